import { expect, it } from 'vitest';
import { stretchesOf } from './curves.reader.ts';

it('steps that are close to each other are computed together', () => {
  expect(stretchesOf([])).toEqual([]);
  expect(stretchesOf([70, 3, 1, 2, 500, 501])).toEqual([
    [1, 3],
    [70, 70],
    [500, 501],
  ]);
  expect(stretchesOf([1, 65])).toEqual([[1, 65]]);
});
