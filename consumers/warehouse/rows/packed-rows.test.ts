import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventTypes, randomEvent, seeded } from '../../../infra/testing/events.ts';
import type { Row } from '../../../streams/core/ports.ts';
import type { DecodedEvent } from '../../../schemas/codec.ts';
import type { TableName } from './tables.ts';
import { PackedRows } from './packed-rows.ts';
import { project } from './project.ts';

const record = { topic: 'rollouts', partition: 1, offset: 7, timestampMs: 1_767_225_600_000, key: null, value: null, headers: {} } as const;

/** Packs the rows that fit; returns the others. */
function pack(rows: readonly Row[]): { readonly packed: PackedRows; readonly odd: readonly Row[] } {
  const packed = new PackedRows();
  return { packed, odd: rows.filter((row) => !packed.add(row)) };
}

const cells = fc.record({
  text: fc.string({ unit: 'grapheme', maxLength: 60 }),
  long: fc.string({ unit: 'grapheme', minLength: 20, maxLength: 200 }),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }),
  flag: fc.boolean(),
  numbers: fc.array(fc.integer(), { maxLength: 9 }),
  texts: fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 4 }),
});

describe('packed rows', () => {
  it('are the rows that were added', () => {
    fc.assert(
      fc.property(fc.array(cells, { maxLength: 150 }), (rows) => {
        const { packed, odd } = pack(rows);
        expect(odd).toEqual([]);
        expect(packed.length).toBe(rows.length);
        expect(packed.rows()).toEqual(rows);
      }),
    );
  });

  it.each(eventTypes)('contain the rows of %s, except those that do not fit their columns', (type) => {
    const rows = new Map<TableName, Row[]>();
    for (let seed = 1; seed <= 200; seed += 1) {
      const decoded = { type, event: randomEvent(type, seeded(seed)) } as DecodedEvent;
      project({ ...record, offset: seed }, decoded, (table, row) => void rows.set(table, [...(rows.get(table) ?? []), row]));
    }
    expect(rows.size).toBeGreaterThan(0);
    for (const of of rows.values()) {
      const { packed, odd } = pack(of);
      const packs = of.filter((row) => !odd.includes(row));
      expect(packed.rows()).toEqual(packs);
      expect(packs.length, 'most rows pack').toBeGreaterThan(of.length / 2);
    }
  });

  it('refuse a row of other columns, in another order or of another kind, and stay as they were', () => {
    const packed = new PackedRows();
    expect(packed.add({ a: null })).toBe(false);
    const first = { a: 1, b: 'x', c: [] };
    expect(packed.add(first)).toBe(true);
    const second = { a: 2, b: '', c: ['y'] };
    const others: Row[] = [
      { a: 1, b: 'x' },
      { ...first, d: 1 },
      { b: 'x', a: 1, c: [] },
      { a: 'NaN', b: 'x', c: [] },
      { a: 1, b: null, c: [] },
      { a: 1, b: true, c: [] },
      { a: 1, b: 'x', c: 'x' },
      { a: 1, b: 'x', c: ['y', 1] },
      { a: 1, b: 'x', c: [null] },
      { a: 1, b: 'x', c: [[1]] },
    ];
    for (const row of others) expect(packed.add(row), JSON.stringify(row)).toBe(false);
    expect(packed.add(second)).toBe(true);
    expect(packed.add({ a: 3, b: '', c: [1] })).toBe(false);
    expect(packed.rows()).toEqual([first, second]);
  });

  it('take texts longer than a page', () => {
    const texts = ['a', 'ä'.repeat(100_000), 'b', '漢'.repeat(50_000), ''];
    const { packed } = pack(texts.map((text) => ({ text })));
    expect(packed.rows()).toEqual(texts.map((text) => ({ text })));
  });
});
