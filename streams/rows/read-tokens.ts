// Reads the fields of a turn that rows need from the bytes of its record in plain form. Texts are skipped, and token lists are not copied.
import type { PlainBytes } from '../../schemas/codec.ts';
import { Cursor } from '../../schemas/cursor.ts';
import { FRAME_BYTES } from '../../schemas/framing.ts';
import type { RecordLayout } from '../../schemas/layout.ts';
import { PackedFloats, PackedWholes } from '../../schemas/packed.ts';
import type { PolicySpan } from '../../schemas/generated/events.ts';
import type { RecordedTurn } from './token-turn.ts';

/** Reads one field at a position in bytes. */
type FieldReader<T> = (bytes: Buffer, at: number) => T;

const whole: FieldReader<number> = (bytes, at) => new Cursor(bytes, at).number();
const wholes: FieldReader<PackedWholes> = (bytes, at) => new PackedWholes(bytes, at);
const text: FieldReader<string> = (bytes, at) => {
  const cursor = new Cursor(bytes, at);
  const length = cursor.number();
  return length === 0 ? '' : bytes.toString('utf8', cursor.at, cursor.at + length);
};

const readers = {
  run_id: text,
  trajectory_id: text,
  attempt: whole,
  sequence: whole,
  purpose: text,
  turn: whole,
  branch_parent: whole,
  prompt_keep: whole,
  prompt_ids: wholes,
  prompt_sha256: text,
  completion_tokens: whole,
  token_ids: wholes,
  logprobs: (bytes: Buffer, at: number) => new PackedFloats(bytes, at),
  loss_mask: wholes,
  logprobs_kind: text,
  policy_spans: spansAt,
  sampling: text,
  truncated: (bytes: Buffer, at: number) => bytes[at] === 1,
} as const satisfies { readonly [F in keyof RecordedTurn]: FieldReader<RecordedTurn[F]> };

const names = Object.keys(readers) as (keyof RecordedTurn)[];

interface FieldPlaces {
  readonly starts: Int32Array;
  /** The position of each field that is read, in the order of `names`. */
  readonly places: readonly number[];
}

const known = new WeakMap<RecordLayout, FieldPlaces>();

function placesIn(layout: RecordLayout): FieldPlaces {
  const found = known.get(layout);
  if (found !== undefined) return found;
  const made = { starts: new Int32Array(layout.fields.length), places: names.map((name) => layout.fields.indexOf(name)) };
  known.set(layout, made);
  return made;
}

/** The fields of a turn. Its lists refer to the bytes, which must not change. */
export function tokensIn({ value, layout }: PlainBytes): RecordedTurn {
  const { starts, places } = placesIn(layout);
  layout.locate(value, FRAME_BYTES, starts);
  const turn: Partial<Record<keyof RecordedTurn, unknown>> = {};
  names.forEach((name, at) => {
    const start = starts[places[at] as number] as number;
    turn[name] = start < 0 ? readers[name](layout.defaults, ~start) : readers[name](value, start);
  });
  return turn as unknown as RecordedTurn;
}

function spansAt(bytes: Buffer, at: number): readonly PolicySpan[] {
  const cursor = new Cursor(bytes, at);
  const spans: PolicySpan[] = [];
  for (let count = cursor.number(); count !== 0; count = cursor.number())
    for (; count > 0; count -= 1) spans.push({ version: cursor.number(), tokens: cursor.number() });
  return spans;
}
