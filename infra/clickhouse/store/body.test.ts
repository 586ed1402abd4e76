import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { compressFrameSync } from 'lz4-napi';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openIncoming, readText, spoolBytes, spoolRows } from './body.ts';

const request = (parts: readonly Buffer[], encoding?: string): IncomingMessage =>
  Object.assign(Readable.from(parts), {
    headers: encoding === undefined ? {} : { 'content-encoding': encoding },
  }) as unknown as IncomingMessage;
const limits = { textBytes: 1000, rowsBytes: 1000 };

/** A zstd frame with one block that repeats a byte this many times. */
function zstdRun(byte: number, times: number): Buffer {
  const frame = Buffer.alloc(13);
  Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0]).copy(frame);
  frame.writeUInt32LE(times, 5);
  frame.writeUIntLE((times << 3) | 3, 9, 3);
  frame[12] = byte;
  return frame;
}

describe('the text of a query', () => {
  it('is read whole, or refused when it is too long before or after it is unpacked', async () => {
    expect((await readText(request([Buffer.from('sel'), Buffer.from('ect 1')]), limits)).toString()).toBe('select 1');
    expect(await readText(request([]), limits)).toHaveLength(0);
    await expect(readText(request([Buffer.alloc(1001)]), limits)).rejects.toMatchObject({ codeName: 'QUERY_IS_TOO_LARGE' });
    expect(await readText(request([zstdRun(32, 900)], 'zstd'), limits)).toHaveLength(900);
    await expect(readText(request([zstdRun(32, 100_000)], 'zstd'), limits)).rejects.toMatchObject({ codeName: 'QUERY_IS_TOO_LARGE' });
    await expect(readText(request([gzipSync(Buffer.alloc(100_000))], 'gzip'), limits)).rejects.toMatchObject({
      codeName: 'QUERY_IS_TOO_LARGE',
    });
    await expect(readText(request([compressFrameSync(Buffer.alloc(100_000))], 'lz4'), limits)).rejects.toMatchObject({
      codeName: 'QUERY_IS_TOO_LARGE',
    });
    await expect(readText(request([Buffer.from('x')], 'gzip'), limits)).rejects.toMatchObject({ codeName: 'CANNOT_DECOMPRESS' });
  });

  it('is not unpacked when the encoding is for rows only, or unknown', async () => {
    await expect(readText(request([Buffer.from('x')], 'xz'), limits)).rejects.toMatchObject({ codeName: 'UNKNOWN_COMPRESSION_METHOD' });
    await expect(readText(request([Buffer.from('x')], 'rot13'), limits)).rejects.toMatchObject({ codeName: 'UNKNOWN_COMPRESSION_METHOD' });
  });
});

describe('the rows of an insert', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnstream-test-body-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const options = { id: 'the-id', maxBytes: 10, head: Buffer.from('12') };

  it('are written to a file as they arrive, after those in the URL', async () => {
    const file = await spoolRows(request([Buffer.from('34'), Buffer.from('56')], 'gzip'), folder, options);
    expect([await readFile(file.path, 'utf8'), file.compression]).toEqual(['123456', 'gzip']);
    await file.remove();
    await file.remove();
    const bytes = await spoolBytes(Buffer.from('x'), folder, 'other');
    expect([await readFile(bytes.path, 'utf8'), bytes.compression]).toEqual(['x', 'none']);
  });

  it('leave nothing behind when they are too many or their sender stops', async () => {
    await expect(spoolRows(request([Buffer.alloc(11)]), folder, options)).rejects.toMatchObject({ codeName: 'QUERY_IS_TOO_LARGE' });
    const cut = Readable.from(
      (function* () {
        yield Buffer.from('3');
        throw new Error('reset');
      })(),
    );
    await expect(spoolRows(Object.assign(cut, { headers: {} }) as unknown as IncomingMessage, folder, options)).rejects.toThrow('reset');
    expect(await readdir(folder)).toEqual([]);
    await expect(spoolBytes(Buffer.from('x'), join(folder, 'absent'), 'x')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('of a process that was killed are removed', async () => {
    await spoolBytes(Buffer.from('x'), folder, 'left');
    await openIncoming(folder);
    expect(await readdir(folder)).toEqual([]);
  });
});
