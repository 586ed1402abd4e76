// Decompresses Snappy as Kafka clients write it: raw, or in the frame format of the Java library (xerial).
import { uncompressSync } from 'snappy';

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

/** The announced length is checked first: the library allocates it. */
function uncompressBlock(packed: Buffer, maxBytes: number): Buffer {
  const length = announcedLength(packed);
  if (length > maxBytes) throw new RangeError(`snappy: ${length} bytes unpacked, ${maxBytes} at most`);
  try {
    return uncompressSync(packed, { asBuffer: true }) as Buffer;
  } catch (cause) {
    throw new RangeError(`snappy: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

function announcedLength(packed: Buffer): number {
  let value = 0;
  for (let index = 0; index < 5; index += 1) {
    const byte = packed[index];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return value;
  }
  throw new RangeError('snappy: no length');
}
