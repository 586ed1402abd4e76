import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { binsFor, histogramFigures } from './histogram.reader.ts';

describe('bins of a histogram', () => {
  it('cover the lowest to the highest value, and are never more than asked for', () => {
    const ends = fc.tuple(fc.integer({ min: -1_000, max: 1_000 }), fc.nat(100_000)).map(([low, span]) => ({ low, high: low + span }));
    fc.assert(
      fc.property(fc.constantFrom(...histogramFigures), ends, fc.integer({ min: 1, max: 200 }), (figure, range, bins) => {
        const { width, count } = binsFor(figure, range, bins);
        expect(count).toBeGreaterThan(0);
        expect(count).toBeLessThanOrEqual(bins);
        expect(range.low + width * count).toBeGreaterThanOrEqual(range.high - 1e-6);
        if (figure === 'turns') expect([Number.isInteger(width), range.low + width * count > range.high]).toEqual([true, true]);
      }),
    );
  });
});
