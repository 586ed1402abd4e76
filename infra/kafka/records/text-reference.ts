// A long tool result that many turns have is in the log once: in the compacted topic `texts`, under its SHA-256. A turn
// whose result is there is written with an empty `result` and a header that says which text belongs where. It is a valid
// event without it: `result_chars` and `result_sha256` are those of the whole result.
import { createHash } from 'node:crypto';

export const TEXT_HEADER = 'result-in-texts';

export interface TextReference {
  /** Where in the value the empty text lies. */
  readonly at: number;
  /** Of the text, hex; the key of its record in `texts`. */
  readonly sha256: string;
}

export const textHeader = ({ at, sha256 }: TextReference): string => `${at}:${sha256}`;

const PATTERN = /^(\d{1,9}):([0-9a-f]{64})$/;

/** Undefined for a header that is none of ours. */
export function parseTextHeader(value: Buffer | undefined): TextReference | undefined {
  const [, at, sha256] = PATTERN.exec(value?.toString('latin1') ?? '') ?? [];
  return at === undefined || sha256 === undefined ? undefined : { at: Number(at), sha256 };
}

export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** The value with the text in the place of the empty one at `at`; the value as it is when none is there. */
export function withText(value: Buffer, at: number, text: Buffer): Buffer {
  if (value[at] !== 0) return value;
  return Buffer.concat([value.subarray(0, at), lengthOf(text), text, value.subarray(at + 1)]);
}

/** The length of a text as Avro writes it. */
function lengthOf(text: Buffer): Buffer {
  const bytes: number[] = [];
  let rest = text.length * 2;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
