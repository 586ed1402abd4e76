// Every compression that Kafka's producers have, for reading what others wrote, and LZ4 for writing. kafkajs itself has gzip
// alone, and ends with an error for ever at a batch of another one.
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Decompress } from 'fzstd';
import { compressFrame, compressFrameSync, decompressFrame, decompressFrameSync } from 'lz4-napi';
import { uncompressSnappy } from './snappy.ts';

/** How what we write may be compressed. */
export type Compression = 'none' | 'gzip' | 'lz4';

const gunzipAsync = promisify(gunzip);

/** Unpacked bytes of a batch at most; what is larger is taken for an attack on memory. */
const MAX_BATCH_BYTES = 256 * 1024 * 1024;

/** Up to this many bytes a call in this thread costs less than the way to another one. */
const SMALL = 65_536;

/** The records of a batch as a frame of LZ4. */
export async function compressLz4(plain: Buffer): Promise<Buffer> {
  return plain.length <= SMALL ? compressFrameSync(plain) : compressFrame(plain);
}

/** Unpacks the records of a batch by the codec number of its attributes. Throws when the bytes are not what they should be. */
export async function decompress(codec: number, packed: Buffer, maxBytes = MAX_BATCH_BYTES): Promise<Buffer> {
  switch (codec) {
    case 0:
      return packed;
    case 1:
      return gunzipAsync(packed, { maxOutputLength: maxBytes });
    case 2:
      return uncompressSnappy(packed, maxBytes);
    case 3:
      return limited(packed.length <= SMALL ? decompressFrameSync(packed) : await decompressFrame(packed), maxBytes);
    case 4:
      return unpackZstd(packed, maxBytes);
    default:
      throw new RangeError(`compression ${codec} is not known`);
  }
}

function unpackZstd(packed: Buffer, maxBytes: number): Buffer {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const stream = new Decompress((chunk) => {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new RangeError(`zstd: more than ${maxBytes} bytes unpacked`);
    chunks.push(chunk.slice());
  });
  stream.push(packed, true);
  return Buffer.concat(chunks);
}

function limited(unpacked: Buffer, maxBytes: number): Buffer {
  if (unpacked.length > maxBytes) throw new RangeError(`lz4: ${unpacked.length} bytes unpacked, ${maxBytes} at most`);
  return unpacked;
}
