// Decompresses Snappy as Kafka clients write it: raw, or in the frame format of the Java library (xerial).
// The format: https://github.com/google/snappy/blob/main/format_description.txt

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const XERIAL_HEADER_BYTES = 16;

/** Throws RangeError for malformed bytes, or when the result exceeds `maxBytes`. */
export function uncompressSnappy(packed: Buffer, maxBytes: number): Buffer {
  if (!packed.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return uncompressBlock(packed, maxBytes);
  const blocks: Buffer[] = [];
  let room = maxBytes;
  let at = XERIAL_HEADER_BYTES;
  while (at + 4 <= packed.length) {
    const length = packed.readUInt32BE(at);
    const end = at + 4 + length;
    if (end > packed.length) throw new RangeError('snappy: a block is cut off');
    const block = uncompressBlock(packed.subarray(at + 4, end), room);
    blocks.push(block);
    room -= block.length;
    at = end;
  }
  return Buffer.concat(blocks);
}

interface Cursor {
  readonly from: Buffer;
  at: number;
  readonly to: Buffer;
  filled: number;
}

function uncompressBlock(packed: Buffer, maxBytes: number): Buffer {
  const { value: length, next } = readLength(packed);
  if (length > maxBytes) throw new RangeError(`snappy: ${length} bytes unpacked, ${maxBytes} at most`);
  const cursor: Cursor = { from: packed, at: next, to: Buffer.allocUnsafe(length), filled: 0 };
  while (cursor.at < packed.length) {
    const tag = packed[cursor.at] ?? 0;
    cursor.at += 1;
    if ((tag & 3) === 0) literal(cursor, tag >> 2);
    else copy(cursor, tag);
  }
  if (cursor.filled !== length) throw new RangeError('snappy: fewer bytes than announced');
  return cursor.to;
}

function readLength(packed: Buffer): { readonly value: number; readonly next: number } {
  let value = 0;
  for (let index = 0; index < 5; index += 1) {
    const byte = packed[index];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, next: index + 1 };
  }
  throw new RangeError('snappy: no length');
}

/** The upper six bits hold the length minus one, or 60 to 63: then it follows in one to four bytes. */
function literal(cursor: Cursor, sixBits: number): void {
  let length = sixBits + 1;
  if (sixBits >= 60) {
    const bytes = sixBits - 59;
    length = littleEndian(cursor, bytes) + 1;
  }
  const end = cursor.at + length;
  if (end > cursor.from.length || cursor.filled + length > cursor.to.length) throw new RangeError('snappy: a literal is cut off');
  cursor.from.copy(cursor.to, cursor.filled, cursor.at, end);
  cursor.at = end;
  cursor.filled += length;
}

function copy(cursor: Cursor, tag: number): void {
  const short = (tag & 3) === 1;
  const length = short ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
  const offset = short ? (tag >> 5) * 256 + littleEndian(cursor, 1) : littleEndian(cursor, (tag & 3) === 2 ? 2 : 4);
  const { to, filled } = cursor;
  if (offset === 0 || offset > filled || filled + length > to.length) throw new RangeError('snappy: a copy reaches outside');
  // Byte by byte: source and target may overlap, which repeats a pattern.
  for (let index = 0; index < length; index += 1) to[filled + index] = to[filled + index - offset] ?? 0;
  cursor.filled += length;
}

function littleEndian(cursor: Cursor, bytes: number): number {
  if (cursor.at + bytes > cursor.from.length) throw new RangeError('snappy: a length is cut off');
  const value = cursor.from.readUIntLE(cursor.at, bytes);
  cursor.at += bytes;
  return value;
}
