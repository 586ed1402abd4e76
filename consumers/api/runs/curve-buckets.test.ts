import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rounded, widen } from './curve-buckets.reader.ts';

it('a bucket has the minimum, maximum, and last of its values, whatever order they arrive in', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(fc.nat(1_000), fc.integer()), { minLength: 1, selector: ([step]) => step }), (points) => {
      const spread = points.reduce<ReturnType<typeof widen> | undefined>((before, [step, value]) => widen(before, step, value), undefined);
      const values = points.map(([, value]) => value);
      const last = [...points].sort(([a], [b]) => a - b).at(-1);
      expect(spread).toEqual({ low: Math.min(...values), high: Math.max(...values), step: last?.[0], last: last?.[1] });
    }),
  );
  expect(widen(widen(undefined, 1, null), 2, 3)).toEqual({ low: 3, high: 3, step: 2, last: 3 });
});

it('values are rounded to six significant digits, except whole numbers', () => {
  expect([0.1 + 0.2, 1234567.891, 12_345_678, -0.000123456789, null, undefined].map(rounded)).toEqual([
    0.3,
    1234570,
    12_345_678,
    -0.000123457,
    null,
    null,
  ]);
});
