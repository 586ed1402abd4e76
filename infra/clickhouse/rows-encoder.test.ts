import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Row } from '../../streams/core/ports.ts';
import { encodeRows } from './rows-encoder.ts';

const lines = (rows: readonly Row[]): unknown[] =>
  Buffer.concat([...encodeRows(rows).parts])
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);

const cell = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.string(), { maxLength: 3 }),
);

describe('rows', () => {
  it('with the same columns are sent without their names', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ a: cell, 'b c': cell }), { minLength: 1 }), (rows) => {
        expect(encodeRows(rows)).toMatchObject({ format: 'JSONCompactEachRow', columns: ['a', 'b c'] });
        expect(lines(rows)).toEqual(rows.map((row) => [row.a, row['b c']]));
      }),
    );
  });

  it('with different columns name them in each row', () => {
    for (const rows of [
      [{ a: 1 }, { b: 2 }],
      [{ a: 1 }, { a: 1, b: 2 }],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [{}],
    ] as Row[][]) {
      expect(encodeRows(rows)).toMatchObject({ format: 'JSONEachRow', columns: undefined });
      expect(lines(rows)).toEqual(rows);
    }
  });

  it('of a large batch come in pieces that hold whole rows', () => {
    const rows = Array.from({ length: 1000 }, (_, n) => ({ n, text: 'x'.repeat(2000) }));
    const parts = [...encodeRows(rows).parts];
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) expect(part.at(-1)).toBe(10);
    expect(lines(rows)).toHaveLength(1000);
  });

  it('are sent as a block when the types of their columns are known and each cell fits', () => {
    const rows = [
      { n: 1, text: 'a' },
      { n: 2, text: 'b' },
    ];
    const types = new Map([
      ['text', 'LowCardinality(String)'],
      ['n', 'Int32'],
      ['other', 'UUID'],
    ]);
    const { format, columns, parts } = encodeRows(rows, types);
    expect({ format, columns }).toEqual({ format: 'Native', columns: ['n', 'text'] });
    const bytes = [
      2, 2, 1, 110, 5, 73, 110, 116, 51, 50, 1, 0, 0, 0, 2, 0, 0, 0, 4, 116, 101, 120, 116, 6, 83, 116, 114, 105, 110, 103, 1, 97, 1, 98,
    ];
    expect([...Buffer.concat([...parts])]).toEqual(bytes);
    expect(encodeRows([{ n: 1.5, text: 'a' }], types).format).toBe('JSONCompactEachRow');
    expect(encodeRows([{ n: 1, unknown: 'a' }], types).format).toBe('JSONCompactEachRow');
    expect(encodeRows([{ n: 1 }, { text: 'a' }], types).format).toBe('JSONEachRow');
  });
});
