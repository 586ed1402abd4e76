// Encodes rows as NDJSON: one object per line, with the fields in the order of `TokenRow`. Digits are written straight into one buffer,
// because a string per number would be slow. A float has up to nine significant digits, enough to identify every float32; a very small or
// large one is written as `String` does. NaN and infinity are null.
import type { TokenRow } from '../../../streams/rows/row.ts';

/** Maximum bytes of a whole number with its comma. */
const WHOLE_BYTES = 12;
/** The same for a float: sign, point, nine digits, and five zeros, or what String returns for a very small or large one. */
const FLOAT_BYTES = 26;

/** The text of a line before, between, and after its lists of token ids, masks, and log-probabilities. */
export function textsOf(row: TokenRow): readonly [string, string, string, string] {
  const { token_ids: _, mask: __, logprobs: ___, turns, turn_starts, ...rest } = row;
  const { row: number, trajectory_id, attempt, group_id, branch, version_spans, ...last } = rest;
  const head = JSON.stringify({ row: number, trajectory_id, attempt, group_id, branch });
  const tail = JSON.stringify({ version_spans, turns: [...turns], turn_starts: [...turn_starts], ...last });
  return [`${head.slice(0, -1)},"token_ids":[`, '],"mask":[', '],"logprobs":[', `],${tail.slice(1)}\n`];
}

/** The line of a row. */
export function ndjsonOf(row: TokenRow): Buffer {
  const { token_ids, mask, logprobs } = row;
  const [before, second, third, after] = textsOf(row);
  const room = (before.length + after.length) * 3 + 64 + token_ids.length * (WHOLE_BYTES + 2) + logprobs.length * FLOAT_BYTES;
  const line = new DigitWriter(Buffer.allocUnsafe(room));
  line.text(before);
  line.wholes(token_ids);
  line.text(second);
  line.wholes(mask);
  line.text(third);
  line.floats(logprobs);
  line.text(after);
  return line.written();
}

const [ZERO, COMMA, MINUS, POINT] = [0x30, 0x2c, 0x2d, 0x2e];
const DIGITS = 9;
export const POWERS = Float64Array.from({ length: 20 }, (_, at) => 10 ** at);

/** Whether a number is written digit by digit. Others are written as `String` does, or as null if they are not finite. */
export const hasDigits = (size: number): boolean => size >= 1e-5 && size < 1e8;

/** The number of decimal places that gives nine significant digits. */
export function placesOf(size: number): number {
  let wholeDigits = 1;
  while (size >= (POWERS[wholeDigits] as number)) wholeDigits += 1;
  let places = size < 1 ? DIGITS : DIGITS - wholeDigits;
  for (let bound = 0.1; size < bound; bound /= 10) places += 1;
  return places;
}

class DigitWriter {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  text(text: string): void {
    this.#at += this.#bytes.write(text, this.#at);
  }

  wholes(values: Int32Array | Uint8Array): void {
    for (let at = 0; at < values.length; at += 1) {
      if (at > 0) this.#bytes[this.#at++] = COMMA;
      this.#whole(values[at] as number);
    }
  }

  floats(values: Float32Array): void {
    for (let at = 0; at < values.length; at += 1) {
      if (at > 0) this.#bytes[this.#at++] = COMMA;
      this.#float(values[at] as number);
    }
  }

  #whole(value: number): void {
    const bytes = this.#bytes;
    let left = value;
    if (left < 0) {
      bytes[this.#at++] = MINUS;
      left = -left;
    }
    let digits = 1;
    while (left >= (POWERS[digits] as number)) digits += 1;
    this.#digits(left, digits);
  }

  /** Writes the last `count` digits of a whole number below 2^53. */
  #digits(value: number, count: number): void {
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start + count - 1;
    let left = value;
    for (; left > 0x7fffffff; at -= 1) {
      const rest = Math.floor(left / 10);
      bytes[at] = ZERO + left - rest * 10;
      left = rest;
    }
    for (let small = left | 0; at >= start; at -= 1) {
      const rest = (small / 10) | 0;
      bytes[at] = ZERO + small - rest * 10;
      small = rest;
    }
    this.#at = start + count;
  }

  #float(value: number): void {
    const bytes = this.#bytes;
    const size = Math.abs(value);
    if (size === 0) bytes[this.#at++] = ZERO;
    else if (!hasDigits(size)) this.text(Number.isFinite(value) ? String(value) : 'null');
    else {
      if (value < 0) bytes[this.#at++] = MINUS;
      this.#decimal(size);
    }
  }

  /** Writes nine significant digits, without trailing zeros. */
  #decimal(size: number): void {
    const bytes = this.#bytes;
    const places = placesOf(size);
    const scaled = Math.round(size * (POWERS[places] as number));
    const whole = Math.floor(scaled / (POWERS[places] as number));
    this.#whole(whole);
    const rest = scaled - whole * (POWERS[places] as number);
    if (rest === 0) return;
    bytes[this.#at++] = POINT;
    this.#digits(rest, places);
    while (bytes[this.#at - 1] === ZERO) this.#at -= 1;
  }
}
