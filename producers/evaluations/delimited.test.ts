import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rowsOfDelimited } from './delimited.ts';

const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;
const rows = (text: string, delimiter: ',' | '\t' = ',') => [...rowsOfDelimited(text, delimiter)];

describe('rows of a table', () => {
  it.each([',', '\t'] as const)('are what was written, whatever the cells hold (%j)', (delimiter) => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'é', '"', ',', '\t', '\n', '\r', ' ') });
    const table = fc.array(fc.tuple(cell, cell), { minLength: 1 });
    fc.assert(
      fc.property(table, fc.constantFrom('\n', '\r\n'), fc.boolean(), (cells, newline, ends) => {
        const lines = [['x', 'y'], ...cells].map((row) => row.map(quoted).join(delimiter));
        const text = lines.join(newline) + (ends ? newline : '');
        expect(rows(text, delimiter).map(({ row }) => row)).toEqual(cells.map(([x, y]) => ({ x, y })));
      }),
    );
  });

  it('may leave quotes out where they are not needed', () => {
    const text = '\ufeffid,\tprompt ,answer\n1,a "b" c,\n\n2,"x\ny" z,Q\n3,only\n4,a,b,c\n5,,"';
    expect(rows(text)).toEqual([
      { line: 2, row: { id: '1', prompt: 'a "b" c', answer: '' } },
      { line: 4, row: { id: '2', prompt: 'x\ny z', answer: 'Q' } },
      { line: 6, row: { id: '3', prompt: 'only', answer: '' } },
      { line: 7, row: new Error('it has 4 cells, the first row names 3 columns') },
      { line: 8, row: new Error('a quote is opened here and never closed') },
    ]);
    expect(rows('')).toEqual([]);
    expect(rows('a\tb\n1\t\n', '\t')).toEqual([{ line: 2, row: { a: '1', b: '' } }]);
    expect(rows('a,b\n1,')).toEqual([{ line: 2, row: { a: '1', b: '' } }]);
  });

  it('never make the parser throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r') }), (text) => {
        expect(rows(text).length).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
