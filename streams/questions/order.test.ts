import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { heldOut, questionAt } from './order.ts';

describe('questionAt', () => {
  it('asks each question once per epoch', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.nat(5), fc.integer({ min: 1, max: 300 }), (seed, epoch, count) => {
        const asked = Array.from({ length: count }, (_, at) => questionAt(seed, epoch * count + at, count));
        expect(asked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, at) => at));
      }),
    );
  });
  it('has another order in the next epoch and with another seed', () => {
    const order = (seed: number, epoch: number): number[] =>
      Array.from({ length: 100 }, (_, at) => questionAt(seed, epoch * 100 + at, 100));
    expect(order(1, 0)).toEqual(order(1, 0));
    expect(order(1, 0)).not.toEqual(order(1, 1));
    expect(order(1, 0)).not.toEqual(order(2, 0));
    expect(order(1, 0)).not.toEqual(order(1, 0).toSorted((a, b) => a - b));
  });
  it('refuses an empty set', () => {
    expect(() => questionAt(1, 0, 0)).toThrow(/at least one/);
  });
});

describe('heldOut', () => {
  it('takes the share, whatever the order of the keys', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.uniqueArray(fc.string(), { maxLength: 40 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (seed, keys, share) => {
          const held = heldOut(seed, keys, share);
          expect(held.size).toBe(Math.round(keys.length * share));
          expect(held).toEqual(heldOut(seed, keys.toReversed(), share));
          for (const key of held) expect(keys).toContain(key);
        },
      ),
    );
  });
});
