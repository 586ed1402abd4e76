import { expect, it } from 'vitest';
import { pairOf, pairsCompared } from './pairs.ts';

it('measures the older one first in odd rounds, and last in even ones', async () => {
  const order: string[] = [];
  const measure = async (name: string): Promise<number> => order.push(name);
  expect(await pairOf(1, { older: 'old', newer: 'new' }, measure)).toEqual({ older: 1, newer: 2 });
  expect(await pairOf(2, { older: 'old', newer: 'new' }, measure)).toEqual({ older: 4, newer: 3 });
  expect(order).toEqual(['old', 'new', 'new', 'old']);
});

it('compares by the median of the ratios of the pairs, whatever the speed of each round', () => {
  const pairs = [
    { older: 10, newer: 11 },
    { older: 20, newer: 22 },
    { older: 5, newer: 9 },
  ];
  expect(pairsCompared('seconds', 'lower', pairs)).toEqual({
    what: 'seconds',
    old: [10, 20, 5],
    new: [11, 22, 9],
    worse: expect.closeTo(0.1, 6) as number,
  });
  expect(pairsCompared('rate', 'higher', pairs).worse).toBeCloseTo(-0.1, 6);
});
