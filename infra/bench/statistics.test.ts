import { describe, expect, it } from 'vitest';
import { meanOf, ratioOf, shownInterval } from './statistics.ts';

describe('intervals', () => {
  it('use Student t quantiles: five values have four degrees of freedom', () => {
    const { mean, low, high } = meanOf([1, 2, 3, 4, 5]);
    expect(mean).toBe(3);
    expect(high - mean).toBeCloseTo((2.776 * Math.sqrt(2.5)) / Math.sqrt(5), 6);
    expect(mean - low).toBeCloseTo(high - mean, 9);
  });

  it('of ratios do not depend on which is divided by which', () => {
    const one = ratioOf([2, 2.5, 1.6]);
    const other = ratioOf([1 / 2, 1 / 2.5, 1 / 1.6]);
    expect(one.mean).toBeCloseTo(2, 1);
    expect(other.mean).toBeCloseTo(1 / one.mean, 9);
    expect(other.low).toBeCloseTo(1 / one.high, 9);
  });

  it('of one value are not known', () => {
    expect(shownInterval(meanOf([3]))).toBe('3.00 (one value)');
    expect(shownInterval(meanOf([1, 1, 1]))).toBe('1.00 (1.00 to 1.00)');
  });
});
