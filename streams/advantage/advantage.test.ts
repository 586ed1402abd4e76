import fc from 'fast-check';
import { expect, it } from 'vitest';
import { groupAdvantages, isUniform } from './advantage.ts';

it('centers and scales the rewards of a group', () => {
  const [low, high] = groupAdvantages([0, 1]);
  expect(low).toBeCloseTo(-1, 5);
  expect(high).toBeCloseTo(1, 5);
});

it('gives a uniform group advantages of zero', () => {
  expect(groupAdvantages([0.3, 0.3, 0.3])).toEqual([0, 0, 0]);
  expect(groupAdvantages([])).toEqual([]);
  expect(isUniform([])).toBe(true);
});

it('is finite and keeps the order for any finite rewards, up to the largest double', () => {
  const extremes = fc.constantFrom(Number.MAX_VALUE, -Number.MAX_VALUE, 1e308, -1e308, 1e200, -1e154, Number.MIN_VALUE, 0, -0, 1);
  const rewards = fc.oneof(extremes, fc.double({ noNaN: true, noDefaultInfinity: true }));
  fc.assert(
    fc.property(fc.array(rewards, { minLength: 2, maxLength: 16 }), (group) => {
      const advantages = groupAdvantages(group);
      expect(advantages.every(Number.isFinite)).toBe(true);
      group.forEach((a, i) => {
        group.forEach((b, j) => {
          if (a > b) expect(advantages[i]).toBeGreaterThanOrEqual(advantages[j] ?? Infinity);
        });
      });
    }),
    { numRuns: 2_000 },
  );
  expect(groupAdvantages([1e308, -1e308])).toEqual([1, -1]);
});

it('sums to zero, is finite, and keeps the order of the rewards', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 2, maxLength: 16 }), (rewards) => {
      const advantages = groupAdvantages(rewards);
      expect(advantages.every(Number.isFinite)).toBe(true);
      expect(advantages.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 5);
      rewards.forEach((a, i) => {
        rewards.forEach((b, j) => {
          if (a > b) expect(advantages[i]).toBeGreaterThanOrEqual(advantages[j] ?? Infinity);
        });
      });
    }),
  );
});
