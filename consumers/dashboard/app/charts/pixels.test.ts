import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fillRects, pixelOf } from './pixels.ts';

const size = fc.double({ min: 0, max: 30, noNaN: true });
const place = fc.double({ min: -20, max: 40, noNaN: true });
const rect = fc.tuple(place, place, size, size);

describe('rectangles in memory', () => {
  it('cover the pixels between their rounded edges, at least one in each direction, and nothing outside of the grid', () => {
    fc.assert(
      fc.property(fc.array(rect, { maxLength: 8 }), fc.constantFrom(1, 1.5, 2), (rects, ratio) => {
        const [width, height] = [24, 16];
        const pixels = new Uint32Array(width * height);
        for (const [at, one] of rects.entries()) fillRects({ pixels, width, height, ratio }, [...one], at + 1);
        const expected = Array.from(pixels, (_, at) => {
          const [x, y] = [at % width, Math.floor(at / width)];
          const covers = (from: number, px: number, pixel: number): boolean => {
            const first = Math.round(from * ratio);
            return pixel >= first && pixel < Math.max(first + 1, Math.round((from + px) * ratio));
          };
          return rects.findLastIndex(([left, top, wide, high]) => covers(left, wide, x) && covers(top, high, y)) + 1;
        });
        expect([...pixels]).toEqual(expected);
      }),
    );
  });

  it('have the bytes of their color in the order red, green, blue, alpha', () => {
    expect([...new Uint8Array(Uint32Array.of(pixelOf('#b3261e'), pixelOf('#00ff80', 0.5)).buffer)]).toEqual([
      ...[0xb3, 0x26, 0x1e, 255],
      ...[0x00, 0xff, 0x80, 128],
    ]);
  });
});
