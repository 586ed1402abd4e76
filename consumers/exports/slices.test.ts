import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FIRST, type ExportUnit } from './shapes.ts';
import { cutSlices, halvesOf, sliceParams } from './slices.ts';

const unitOf = (at: number, rows: number, bytes: number): ExportUnit => {
  const id = `t-${String(at).padStart(5, '0')}`;
  return { id, attempt: 0, block: 0, rows, bytes, low: id, high: id };
};
const anyUnits = fc
  .array(fc.record({ rows: fc.integer({ min: 0, max: 30 }), bytes: fc.nat(200) }), { maxLength: 40 })
  .map((all) => all.map(({ rows, bytes }, at) => unitOf(at, rows, bytes)));

describe('slices', () => {
  it('hold every unit once, in order, and follow each other without a gap', () => {
    fc.assert(
      fc.property(anyUnits, (units) => {
        const slices = [...cutSlices(FIRST, units, { rows: 50, bytes: 300 })];
        expect(slices.flatMap((slice) => slice.units)).toEqual(units);
        for (const [at, slice] of slices.entries()) {
          expect(slice.after).toEqual(at === 0 ? FIRST : slices[at - 1]?.units.at(-1));
          const sum = (of: (unit: ExportUnit) => number): number => slice.units.reduce((total, unit) => total + of(unit), 0);
          if (slice.units.length > 1) expect(sum(({ rows }) => rows) <= 50 && sum(({ bytes }) => bytes) <= 300).toBe(true);
        }
      }),
    );
  });

  it('split into two parts with all units, unless they have fewer than two', () => {
    fc.assert(
      fc.property(anyUnits, (units) => {
        const slice = { after: FIRST, units };
        const halves = halvesOf(slice);
        if (units.length < 2) {
          expect(halves).toBeUndefined();
          return;
        }
        const [left, right] = halves!;
        expect([...left.units, ...right.units]).toEqual(units);
        expect(right.after).toEqual(left.units.at(-1));
        expect(left.units.length).toBeGreaterThan(0);
      }),
    );
  });

  it('have parameters for the keys that delimit them, and for the lowest and highest trajectory in byte order', () => {
    const units = [
      { ...unitOf(1, 1, 1), low: 'g-2.0', high: 'g-2.9' },
      { ...unitOf(2, 1, 1), low: 'g-10.0', high: 'g-\u00e9.1' },
    ];
    expect(sliceParams({ after: FIRST, units })).toEqual({
      ...FIRST,
      ...{ low: 'g-10.0', high: 'g-\u00e9.1', last_id: 't-00002', last_attempt: 0, last_block: 0 },
    });
    expect(sliceParams({ after: FIRST, units: [] })).toMatchObject({ low: '', high: '', last_id: FIRST.id, last_attempt: FIRST.attempt });
  });
});
