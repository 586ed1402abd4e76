// Reads every compression that Kafka producers use, and writes LZ4. kafkajs itself supports only gzip, and fails permanently on a batch
// with another codec.
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Decompress } from 'fzstd';
import { compressFrame, compressFrameSync } from 'lz4-napi';
import { decompressLz4 } from './lz4-frames.ts';
import { uncompressSnappy } from './snappy.ts';

/** Compression of written records. */
export type Compression = 'none' | 'gzip' | 'lz4';

const gunzipAsync = promisify(gunzip);

/** Maximum uncompressed size of a batch, bytes; larger ones are treated as decompression bombs. */
const MAX_BATCH_BYTES = 256 * 1024 * 1024;

/** Up to this size in bytes, a synchronous call costs less than a worker thread. */
const SMALL = 65_536;

/** Compresses the records of a batch to an LZ4 frame. */
export async function compressLz4(plain: Buffer): Promise<Buffer> {
  return plain.length <= SMALL ? compressFrameSync(plain) : compressFrame(plain);
}

/** Decompresses the records of a batch; `codec` is the number in its attributes. Throws on malformed bytes. */
export async function decompress(codec: number, packed: Buffer, maxBytes = MAX_BATCH_BYTES): Promise<Buffer> {
  switch (codec) {
    case 0:
      return packed;
    case 1:
      return gunzipAsync(packed, { maxOutputLength: maxBytes });
    case 2:
      return uncompressSnappy(packed, maxBytes);
    case 3:
      return decompressLz4(packed, maxBytes);
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
