// Decompresses LZ4 frames block by block. The frame decoder of lz4-napi takes three to five times as long as its block decoder, and
// decompression was a quarter of the time of the sink. Frames that Kafka clients do not write (dependent blocks, checksums, a dictionary,
// or several frames in a row) are left to the frame decoder. https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
import { decompressFrameSync, uncompressSync } from 'lz4-napi';

const MAGIC = 0x184d2204;
/** Version 1 with independent blocks; the size of the content may be given. */
const [PLAIN_FLAGS, CONTENT_SIZE_FLAG] = [0x60, 0x08];
const STORED_BIT = 0x8000_0000;
/** Bytes of the size in front of each block. */
const SIZE_BYTES = 4;
/** A byte of an LZ4 block stands for at most this many bytes. */
const MAX_RATIO = 255;

/** Throws RangeError for more than `maxBytes`, and an Error for malformed bytes. */
export function decompressLz4(frame: Buffer, maxBytes: number): Buffer {
  if (frame.length === 0) return frame;
  const parts = frame.readUInt32LE(0) === MAGIC ? blocksOf(frame, maxBytes) : undefined;
  if (parts === undefined) return within(decompressFrameSync(frame), maxBytes);
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

/** Undefined when the frame decoder has to read it. */
function blocksOf(frame: Buffer, maxBytes: number): readonly Buffer[] | undefined {
  const flags = frame.readUInt8(4);
  if ((flags & ~CONTENT_SIZE_FLAG) !== PLAIN_FLAGS) return undefined;
  /** 64 KiB to 4 MiB. */
  const maxBlock = 2 ** (8 + 2 * ((frame.readUInt8(5) >> 4) & 7));
  const parts: Buffer[] = [];
  let total = 0;
  let at = flags === PLAIN_FLAGS ? 7 : 15;
  for (;;) {
    const size = frame.readUInt32LE(at);
    const start = at + SIZE_BYTES;
    if (size === 0) return start === frame.length ? parts : undefined;
    const bytes = size % STORED_BIT;
    if (start + bytes > frame.length) throw new RangeError(`lz4: a block of ${bytes} bytes is cut off`);
    const part = size >= STORED_BIT ? frame.subarray(start, start + bytes) : decompressBlock(frame, { at, bytes, maxBlock });
    total += part.length;
    if (total > maxBytes) throw tooMuch(total, maxBytes);
    parts.push(part);
    at = start + bytes;
  }
}

interface BlockPlace {
  /** Where the size of the block is; its bytes follow. */
  readonly at: number;
  readonly bytes: number;
  /** Its greatest size when decompressed, bytes. */
  readonly maxBlock: number;
}

/**
 * lz4-napi expects the size of its output buffer in front of the block, where the frame has the size of the block itself. This is replaced
 * for the duration of the call, so that nothing is copied.
 */
function decompressBlock(frame: Buffer, { at, bytes, maxBlock }: BlockPlace): Buffer {
  frame.writeUInt32LE(Math.min(maxBlock, MAX_RATIO * bytes), at);
  try {
    return uncompressSync(frame.subarray(at, at + SIZE_BYTES + bytes));
  } finally {
    frame.writeUInt32LE(bytes, at);
  }
}

function within(unpacked: Buffer, maxBytes: number): Buffer {
  if (unpacked.length > maxBytes) throw tooMuch(unpacked.length, maxBytes);
  return unpacked;
}

const tooMuch = (bytes: number, maxBytes: number): RangeError => new RangeError(`lz4: ${bytes} bytes unpacked, ${maxBytes} at most`);
