import fc from 'fast-check';
import { expect, it } from 'vitest';
import { behindMarks } from './behind-marks.ts';

const place = fc.record({ partition: fc.nat(4), offset: fc.nat(50) });
const marks = fc.uniqueArray(place, { selector: ({ partition }) => partition, maxLength: 5 });

it('the condition holds for every row that no mark covers', () => {
  fc.assert(
    fc.property(marks, place, (known, row) => {
      const { mark_least: least = 0, mark_most: most = 0 } = behindMarks(known).params;
      const mark = known.find(({ partition }) => partition === row.partition);
      const isCovered = mark !== undefined && row.offset < mark.offset;
      if (!isCovered) expect(row.offset >= least || row.partition > most).toBe(true);
    }),
  );
});

it('the condition excludes the rows that the marks of all partitions cover', () => {
  const { params } = behindMarks([1, 0].map((partition) => ({ partition, offset: 100 + partition })));
  expect(params).toEqual({ mark_least: 100, mark_most: 1 });
});
