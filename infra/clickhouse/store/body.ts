// Reads the body of a request: either text, in memory and up to a limit, or the rows of an INSERT, in a file that the engine reads and
// decompresses. Files that a killed process left behind are removed at the next start.
import { createWriteStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { Decompress } from 'fzstd';
import { decompressFrame } from 'lz4-napi';
import { messageOf } from '../../../streams/core/errors.ts';
import { ClickHouseFailure, tooLarge } from '../clickhouse-error.ts';

/** Rows of an INSERT in a file; `compression` is the name that ClickHouse's INFILE uses. */
export interface RowsFile {
  readonly path: string;
  readonly compression: string;
  remove(): Promise<void>;
}

export interface BodyLimits {
  readonly textBytes: number;
  readonly rowsBytes: number;
}

const compressions: Readonly<Record<string, string>> = {
  identity: 'none',
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
  lz4: 'lz4',
  zstd: 'zstd',
  xz: 'xz',
  bz2: 'bz2',
};

const gunzipAsync = promisify(gunzip);
const inflateAsync = promisify(inflate);
const brotliAsync = promisify(brotliDecompress);
/** lz4 expands up to 255 times and cannot be interrupted, so its input is kept small. */
const LZ4_TEXT_BYTES = 1024 * 1024;

export function compressionOf(request: IncomingMessage): string {
  const asked = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const known = compressions[asked];
  if (known === undefined)
    throw new ClickHouseFailure(89, 'UNKNOWN_COMPRESSION_METHOD', `Unknown Content-Encoding ${JSON.stringify(asked)}`);
  return known;
}

/** The folder for row files; emptied at start. */
export async function openIncoming(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
}

/** Reads the decompressed body. */
export async function readText(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const compression = compressionOf(request);
  const wireLimit = compression === 'lz4' ? Math.min(LZ4_TEXT_BYTES, limits.textBytes) : limits.textBytes;
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > wireLimit) throw textTooLarge(wireLimit);
    parts.push(part);
  }
  return decompress(Buffer.concat(parts), compression, limits.textBytes);
}

type Unpack = (bytes: Buffer, maxBytes: number) => Buffer | Promise<Buffer>;

const unpackers: Readonly<Record<string, Unpack>> = {
  gzip: (bytes, maxOutputLength) => gunzipAsync(bytes, { maxOutputLength }),
  deflate: (bytes, maxOutputLength) => inflateAsync(bytes, { maxOutputLength }),
  br: (bytes, maxOutputLength) => brotliAsync(bytes, { maxOutputLength }),
  lz4: async (bytes, maxBytes) => within(await decompressFrame(bytes), maxBytes),
  zstd: unzstd,
};

async function decompress(bytes: Buffer, compression: string, maxBytes: number): Promise<Buffer> {
  if (bytes.length === 0 || compression === 'none') return bytes;
  const unpack = unpackers[compression];
  if (unpack === undefined) {
    throw new ClickHouseFailure(
      89,
      'UNKNOWN_COMPRESSION_METHOD',
      `Content-Encoding ${compression} is known for the rows of an INSERT only`,
    );
  }
  try {
    return await unpack(bytes, maxBytes);
  } catch (cause) {
    if (cause instanceof ClickHouseFailure) throw cause;
    if (cause instanceof RangeError) throw textTooLarge(maxBytes);
    throw new ClickHouseFailure(271, 'CANNOT_DECOMPRESS', `Cannot decompress the body as ${compression}: ${messageOf(cause)}`);
  }
}

const textTooLarge = (maxBytes: number): ClickHouseFailure =>
  tooLarge(`The text of a query may have ${maxBytes} bytes here. Rows of an INSERT may be longer when the query is in the URL`);

function within(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length > maxBytes) throw textTooLarge(maxBytes);
  return bytes;
}

function unzstd(bytes: Buffer, maxBytes: number): Buffer {
  const parts: Uint8Array[] = [];
  let size = 0;
  const stream = new Decompress((part) => {
    size += part.length;
    if (size > maxBytes) throw textTooLarge(maxBytes);
    parts.push(part);
  });
  stream.push(bytes, true);
  return Buffer.concat(parts);
}

/** Streams the body to a file without decompressing it. Throws QUERY_IS_TOO_LARGE past the limit and removes the file. */
export async function spoolRows(
  request: IncomingMessage,
  folder: string,
  options: { readonly id: string; readonly maxBytes: number; readonly head: Buffer },
): Promise<RowsFile> {
  const file = rowsFile(folder, options.id, compressionOf(request));
  try {
    const sink = createWriteStream(file.path, { highWaterMark: 1024 * 1024 });
    if (options.head.length > 0) sink.write(options.head);
    await pipeline(request, limit(options.maxBytes), sink);
  } catch (error) {
    await file.remove();
    throw diskFailure(error);
  }
  return file;
}

/** Stores rows that follow their INSERT in the same text. */
export async function spoolBytes(bytes: Uint8Array, folder: string, id: string): Promise<RowsFile> {
  const file = rowsFile(folder, id, 'none');
  try {
    await writeFile(file.path, bytes);
  } catch (error) {
    await file.remove();
    throw diskFailure(error);
  }
  return file;
}

function rowsFile(folder: string, id: string, compression: string): RowsFile {
  const path = join(folder, `${id}.rows`);
  return { path, compression, remove: () => rm(path, { force: true }) };
}

function limit(maxBytes: number): Transform {
  let size = 0;
  return new Transform({
    transform(part: Buffer, _encoding, done) {
      size += part.length;
      done(size > maxBytes ? tooLarge(`The rows of one INSERT may have ${maxBytes} bytes here. Send them in several`) : null, part);
    },
  });
}

function diskFailure(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new ClickHouseFailure(243, 'NOT_ENOUGH_SPACE', `Cannot keep the rows of an INSERT: ${messageOf(error)}`);
  return error;
}
