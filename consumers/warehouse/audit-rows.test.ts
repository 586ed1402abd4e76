import { describe, expect, it } from 'vitest';
import { compareRows } from './audit-rows.ts';

describe('rows of one record on both sides', () => {
  const row = (id: number, value: string) => ({ id, value, other: 'same' });

  it('have no differences when they are the same, in any order', () => {
    expect(compareRows([row(1, 'a'), row(2, 'b'), row(2, 'b')], [row(2, 'b'), row(1, 'a'), row(2, 'b')])).toEqual([]);
  });

  it('are compared with the most similar row that has no equal', () => {
    expect(compareRows([row(1, 'a'), row(2, 'b')], [row(1, 'a'), row(2, 'c')])).toEqual([{ column: 'value', log: '"b"', table: '"c"' }]);
    expect(compareRows([row(2, 'b')], [row(9, 'z'), row(2, 'c')])).toEqual([{ column: 'value', log: '"b"', table: '"c"' }]);
  });

  it('are shown shortened', () => {
    const [difference] = compareRows([row(1, 'x'.repeat(1_000))], [row(1, 'y')]);
    expect(difference?.log).toHaveLength(80);
  });

  it('have no differing columns when one side is empty', () => {
    expect(compareRows([row(1, 'a')], [])).toEqual([]);
  });
});
