// A long tool result that many turns share is in the log once: in the compacted topic `texts`, keyed by its SHA-256. A turn that shares it
// is written with an empty `result` and a header that names the text and its position. Such a turn is a valid event: `result_chars` and
// `result_sha256` describe the whole result.
import { createHash } from 'node:crypto';

export const TEXT_HEADER = 'result-in-texts';

export interface TextReference {
  /** Position of the empty text in the value. */
  readonly at: number;
  /** SHA-256 of the text, hex; the key of its record in `texts`. */
  readonly sha256: string;
}

export const textHeader = ({ at, sha256 }: TextReference): string => `${at}:${sha256}`;

const PATTERN = /^(\d{1,9}):([0-9a-f]{64})$/;

/** Undefined for any other header. */
export function parseTextHeader(value: Buffer | undefined): TextReference | undefined {
  const [, at, sha256] = PATTERN.exec(value?.toString('latin1') ?? '') ?? [];
  return at === undefined || sha256 === undefined ? undefined : { at: Number(at), sha256 };
}

export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** The value with the text inserted at `at`; the unchanged value when there is no empty text at that position. */
export function withText(value: Buffer, at: number, text: Buffer): Buffer {
  if (value[at] !== 0) return value;
  return Buffer.concat([value.subarray(0, at), lengthOf(text), text, value.subarray(at + 1)]);
}

/** The length of a text in Avro encoding. */
function lengthOf(text: Buffer): Buffer {
  const bytes: number[] = [];
  let rest = text.length * 2;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
