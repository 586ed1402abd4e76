import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { compressFrameSync } from 'lz4-napi';
import { compressLz4, decompress } from './compression.ts';
import { uncompressSnappy } from './snappy.ts';

const vectors = JSON.parse(readFileSync(new URL('record-batches.vectors.json', import.meta.url), 'utf8')) as Record<string, string>;
const batchOf = (name: string): Buffer => Buffer.from(vectors[name] ?? '', 'base64');

/** Builds Snappy data from literals and copies, as a compressor might choose them. */
function packSnappy(parts: readonly ({ readonly literal: Buffer } | { readonly offset: number; readonly length: number })[]): {
  packed: Buffer;
  plain: Buffer;
} {
  let plain = Buffer.alloc(0);
  const chunks: Buffer[] = [];
  for (const part of parts) {
    if ('literal' in part) {
      const { literal } = part;
      const length = literal.length - 1;
      chunks.push(length < 60 ? Buffer.from([length << 2]) : Buffer.from([61 << 2, length & 255, length >> 8]), literal);
      plain = Buffer.concat([plain, literal]);
    } else {
      const { offset, length } = part;
      const short = length >= 4 && length <= 11 && offset < 2048;
      chunks.push(
        short
          ? Buffer.from([((offset >> 8) << 5) | ((length - 4) << 2) | 1, offset & 255])
          : Buffer.from([((length - 1) << 2) | 2, offset & 255, offset >> 8]),
      );
      for (let index = 0; index < length; index += 1)
        plain = Buffer.concat([plain, plain.subarray(plain.length - offset, plain.length - offset + 1)]);
    }
  }
  const size: number[] = [];
  for (let rest = plain.length; ; rest >>= 7) {
    if (rest < 128) {
      size.push(rest);
      break;
    }
    size.push((rest & 127) | 128);
  }
  return { packed: Buffer.concat([Buffer.from(size), ...chunks]), plain };
}

const literal = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => ({ literal: Buffer.from(bytes) }));

describe('snappy', () => {
  it('unpacks literals and copies of every form, bare and framed', () => {
    fc.assert(
      fc.property(
        literal,
        fc.array(fc.oneof(literal, fc.record({ offset: fc.integer({ min: 1, max: 400 }), length: fc.integer({ min: 1, max: 64 }) })), {
          maxLength: 12,
        }),
        (first, rest) => {
          let length = first.literal.length;
          const parts = rest.map((part) => {
            const fitting = 'offset' in part ? { ...part, offset: 1 + (part.offset % length) } : part;
            length += 'offset' in part ? part.length : part.literal.length;
            return fitting;
          });
          const { packed, plain } = packSnappy([first, ...parts]);
          expect(uncompressSnappy(packed, 1_000_000).equals(plain)).toBe(true);
          const block = Buffer.alloc(4);
          block.writeUInt32BE(packed.length);
          const framed = Buffer.concat([
            Buffer.from([0x82]),
            Buffer.from('SNAPPY\0\0\0\0\x01\0\0\0\x01', 'latin1'),
            block,
            packed,
            block,
            packed,
          ]);
          expect(uncompressSnappy(framed, 1_000_000).equals(Buffer.concat([plain, plain]))).toBe(true);
        },
      ),
    );
  });

  it('unpacks a copy with an offset of four bytes', () => {
    const packed = Buffer.from([7, 2 << 2, 97, 98, 99, (3 << 2) | 3, 3, 0, 0, 0]);
    expect(uncompressSnappy(packed, 100).toString()).toBe('abcabca');
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a length without end', Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80])],
    ['a literal that is cut off', Buffer.from([3, 2 << 2, 97])],
    ['a long literal whose length is cut off', Buffer.from([3, 61 << 2, 1])],
    ['a copy from before the start', Buffer.from([6, 0, 97, (3 << 2) | 2, 9, 0])],
    ['a copy from nowhere', Buffer.from([6, 0, 97, (3 << 2) | 2, 0, 0])],
    ['fewer bytes than announced', Buffer.from([9, 0, 97])],
    ['more than is allowed', Buffer.from([0xff, 0xff, 0x7f, 0, 97])],
    [
      'a frame whose block is cut off',
      Buffer.concat([Buffer.from([0x82]), Buffer.from('SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0\0\x09', 'latin1')]),
    ],
  ])('refuses %s', (_what, packed) => {
    expect(() => uncompressSnappy(packed, 1_000)).toThrow(RangeError);
  });
});

describe('decompress', () => {
  const plain = Buffer.alloc(10_000, 'abc');

  it('returns uncompressed data unchanged', async () => {
    expect(await decompress(0, plain)).toBe(plain);
  });

  it.each([
    [1, gzipSync(plain)],
    [3, compressFrameSync(plain)],
  ])('refuses more than the limit (codec %i)', async (codec, packed) => {
    expect((await decompress(codec, packed)).equals(plain)).toBe(true);
    await expect(decompress(codec, packed, 9_999)).rejects.toThrow(RangeError);
  });

  it('refuses more than the limit of zstd', async () => {
    const packed = batchOf('zstd').subarray(61);
    expect((await decompress(4, packed)).length).toBeGreaterThan(4_000);
    await expect(decompress(4, packed, 1_000)).rejects.toThrow(RangeError);
  });
});

describe('compressLz4', () => {
  it('can be reversed for data of any size, and makes repetitive text smaller', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 600 }), async (bytes, times) => {
        const plain = Buffer.concat(Array.from({ length: times }, () => bytes));
        const packed = await compressLz4(plain);
        expect((await decompress(3, packed)).equals(plain)).toBe(true);
        if (bytes.length >= 100 && times >= 10) expect(packed.length).toBeLessThan(plain.length / 2);
      }),
      { numRuns: 50 },
    );
  });
});
