import { expect, it } from 'vitest';
import { compare } from './compare.ts';

const sink = (rows: string, theirs = '1') => ({
  columns: ['reader', 'rows/s'],
  rows: [
    ['turnstream warehouse, exactly once', rows],
    ['Kafka engine', theirs],
  ],
});

const recovery = (...medians: readonly string[]) => ({
  columns: ['killed', 'median'],
  rows: [...medians.map((time, i) => [String(i + 1), time]), ['afterwards', '0.3 s from the last end to the step']],
});

it('rates fewer rows per second as worse', () => {
  const [figure] = compare('sink', [sink('40,000'), sink('50,000')], [sink('36,000'), sink('45,000')]);
  expect(figure).toEqual({ what: 'sink, rows/s', old: [40_000, 50_000], new: [36_000, 45_000], worse: expect.closeTo(0.1, 6) as number });
});

it('rates more seconds as worse, by the median of the rows', () => {
  const [figure] = compare('recovery', [recovery('2.0 s', '2.0 s', '2.0 s')], [recovery('2.2 s', '9.0 s', '2.2 s')]);
  expect(figure?.worse).toBeCloseTo(0.1, 6);
});

it('does not read a sentence as a figure', () => {
  const [figure] = compare('recovery', [recovery('2.0 s')], [recovery('2.2 s')]);
  expect(figure?.old).toEqual([2]);
  expect(figure?.worse).toBeCloseTo(0.1, 6);
});

it('does not count a missing figure as unchanged', () => {
  expect(() => compare('sink', [sink('1')], [{ columns: ['reader', 'rows a second'], rows: [['turnstream', '1']] }])).toThrow(/rows\/s/);
});
