// TensorBoard event files: TensorFlow records (length, checksum, data, checksum), each with one Event in protocol buffers. Only the fields
// for scalars are written: Event{wall_time=1, step=2, file_version=3, summary=5}, Summary{value=1}, Value{tag=1, simple_value=2}.
import { maskedCrc32c } from './crc32c.ts';
import type { CurvePoint } from '../../../consumers/curves/curves.ts';

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** An event file with all series of all points; each series is a scalar with the tag `tagOf(series)`. */
export function eventFile(points: readonly CurvePoint[], tagOf: (series: string) => string): Buffer {
  const began = points[0]?.atMs ?? 0;
  const head = Buffer.concat([wallTime(began), field(3, BYTES), lengthAndBytes(Buffer.from('brain.Event:2'))]);
  return Buffer.concat([record(head), ...points.map((point) => record(scalars(point, tagOf)))]);
}

/** The file name that TensorBoard expects. */
export const eventFileName = (points: readonly CurvePoint[], run: string): string =>
  `events.out.tfevents.${Math.floor((points[0]?.atMs ?? 0) / 1_000)}.${run}`;

function scalars({ step, atMs, values }: CurvePoint, tagOf: (series: string) => string): Buffer {
  const summary = Object.entries(values).map(([series, value]) => {
    const number = Buffer.alloc(4);
    number.writeFloatLE(value);
    return message(1, [field(1, BYTES), lengthAndBytes(Buffer.from(tagOf(series))), field(2, FIXED32), number]);
  });
  return Buffer.concat([wallTime(atMs), field(2, VARINT), varint(step), message(5, summary)]);
}

function wallTime(atMs: number): Buffer {
  const seconds = Buffer.alloc(8);
  seconds.writeDoubleLE(atMs / 1_000);
  return Buffer.concat([field(1, FIXED64), seconds]);
}

const field = (number: number, type: number): Buffer => varint(number * 8 + type);
const lengthAndBytes = (bytes: Buffer): Buffer => Buffer.concat([varint(bytes.length), bytes]);
const message = (number: number, parts: readonly Buffer[]): Buffer =>
  Buffer.concat([field(number, BYTES), lengthAndBytes(Buffer.concat(parts))]);

/** Encodes a nonnegative number. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}

function record(data: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([length, checksum(length), data, checksum(data)]);
}

function checksum(bytes: Buffer): Buffer {
  const found = Buffer.alloc(4);
  found.writeUInt32LE(maskedCrc32c(bytes));
  return found;
}
