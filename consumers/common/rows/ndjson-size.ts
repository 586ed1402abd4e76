// The length of a row's NDJSON line, without writing it: every batch is measured, but most are sent in another format.
import type { TokenRow } from '../../../streams/rows/row.ts';
import { hasDigits, placesOf, POWERS, textsOf } from './ndjson.ts';

/** Decimal places of most log-probabilities. */
const USUAL_PLACES = 9;

export function ndjsonBytes(row: TokenRow): number {
  const around = textsOf(row).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return around + wholesBytes(row.token_ids) + wholesBytes(row.mask) + floatsBytes(row.logprobs);
}

const commas = ({ length }: { readonly length: number }): number => Math.max(0, length - 1);

function wholesBytes(values: Int32Array | Uint8Array): number {
  let bytes = commas(values);
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as number;
    bytes += value < 0 ? 1 + digitsOf(-value) : digitsOf(value);
  }
  return bytes;
}

function digitsOf(value: number): number {
  if (value < 10_000) return value < 100 ? (value < 10 ? 1 : 2) : value < 1_000 ? 3 : 4;
  let digits = 5;
  while (value >= (POWERS[digits] as number)) digits += 1;
  return digits;
}

function floatsBytes(values: Float32Array): number {
  let bytes = commas(values);
  for (let at = 0; at < values.length; at += 1) bytes += floatBytes(values[at] as number);
  return bytes;
}

function floatBytes(value: number): number {
  if (value === 0) return 1;
  const size = Math.abs(value);
  if (!hasDigits(size)) return Number.isFinite(value) ? String(value).length : 'null'.length;
  let places = size >= 0.1 && size < 1 ? USUAL_PLACES : placesOf(size);
  const scale = POWERS[places] as number;
  const scaled = Math.round(size * scale);
  const whole = scaled < scale ? 0 : Math.floor(scaled / scale);
  // at most 10^9
  let rest = (scaled - whole * scale) | 0;
  const before = (value < 0 ? 1 : 0) + digitsOf(whole);
  if (rest === 0) return before;
  for (; rest % 10 === 0; rest = (rest / 10) | 0) places -= 1;
  return before + 1 + places;
}
