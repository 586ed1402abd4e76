import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { compressFrameSync, compressSync, decompressFrameSync } from 'lz4-napi';
import { describe, expect, it } from 'vitest';
import { decompressLz4 } from './lz4-frames.ts';

const LIMIT = 64 * 1024 * 1024;
const repeated = fc
  .tuple(fc.uint8Array({ maxLength: 400 }), fc.integer({ min: 0, max: 2_000 }))
  .map(([bytes, times]) => Buffer.concat(Array.from({ length: times }, () => bytes)));

/** A frame of independent blocks of up to 64 KiB, some of them stored. The header checksum is not that of its bytes. */
function frameOf(
  parts: readonly { readonly plain: Buffer; readonly stored: boolean }[],
  options: { readonly contentSize: boolean },
): Buffer {
  const header = Buffer.from([0x04, 0x22, 0x4d, 0x18, options.contentSize ? 0x68 : 0x60, 0x40]);
  const size = Buffer.alloc(options.contentSize ? 8 : 0);
  if (options.contentSize) size.writeUInt32LE(parts.reduce((sum, { plain }) => sum + plain.length, 0));
  const blocks = parts.flatMap(({ plain, stored }) => {
    const block = stored ? plain : compressSync(plain).subarray(4);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(stored ? block.length + 0x8000_0000 : block.length);
    return [length, block];
  });
  return Buffer.concat([header, size, Buffer.alloc(1), ...blocks, Buffer.alloc(4)]);
}

describe('an LZ4 frame', () => {
  it('is decompressed to what the library compressed', () => {
    fc.assert(
      fc.property(repeated, (plain) => {
        expect(decompressLz4(compressFrameSync(plain), LIMIT).equals(plain)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('is decompressed whatever its blocks are', () => {
    const part = fc.record({
      plain: fc.uint8Array({ minLength: 1, maxLength: 65_536 }).map((bytes) => Buffer.from(bytes)),
      stored: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), fc.boolean(), (parts, contentSize) => {
        const plain = Buffer.concat(parts.map((one) => one.plain));
        const frame = frameOf(parts, { contentSize });
        expect(decompressLz4(frame, LIMIT).equals(plain)).toBe(true);
        expect(frame.equals(frameOf(parts, { contentSize }))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('of another Kafka client is decompressed', () => {
    const vectors = JSON.parse(readFileSync(new URL('record-batches.vectors.json', import.meta.url), 'utf8')) as Record<string, string>;
    const frame = Buffer.from(vectors['lz4'] ?? '', 'base64').subarray(61);
    expect(decompressLz4(frame, LIMIT).equals(decompressFrameSync(frame))).toBe(true);
  });

  it('that is followed by another frame is left to the library', () => {
    const [one, two] = [compressFrameSync(Buffer.from('one')), compressFrameSync(Buffer.from('two'))];
    expect(decompressLz4(Buffer.concat([one, two]), LIMIT)).toEqual(decompressFrameSync(Buffer.concat([one, two])));
  });

  it('throws when it is cut off anywhere, and throws or stays within the limit when bytes are changed', () => {
    const frame = frameOf([{ plain: Buffer.alloc(3_000, 'abcdefg'), stored: false }], { contentSize: false });
    for (let length = 1; length < frame.length; length += 1)
      expect(() => decompressLz4(frame.subarray(0, length), LIMIT), String(length)).toThrow();
    fc.assert(
      fc.property(fc.nat(frame.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(frame);
        changed[at] = (changed[at] ?? 0) ^ change;
        const before = Buffer.from(changed);
        try {
          expect(decompressLz4(changed, 1_000_000).length).toBeLessThanOrEqual(1_000_000);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
        expect(changed.equals(before)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('throws for more bytes than are allowed', () => {
    expect(() => decompressLz4(compressFrameSync(Buffer.alloc(10_000)), 9_999)).toThrow(RangeError);
  });
});
