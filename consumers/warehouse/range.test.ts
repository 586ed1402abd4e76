import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPartitionRanges, type RangeEntry, type Limits } from './range.ts';

const wide: Limits = { records: 1_000, bytes: 1_000_000, waitMs: 100 };
const entries = (...offsets: readonly number[]): RangeEntry[] => offsets.map((offset) => ({ offset, bytes: 10 }));

const ranges = (start = 0, limits: Limits = wide) => createPartitionRanges<RangeEntry>(start, limits);

describe('a range', () => {
  it('is due when it is old enough, and stays the same until it is stored', () => {
    const partition = ranges();
    partition.offer({ entries: entries(0, 1), nextOffset: 2, endOffset: 9 }, 1_000);
    expect(partition.due(1_099)).toBeUndefined();
    expect(partition.ripe(1_099)).toBe(false);
    expect(partition.ripe(1_100)).toBe(true);
    expect(partition.dueAt()).toBe(1_100);
    expect(partition.due(1_100)).toMatchObject({ from: 0, min: 0, max: 1, next: 2, bytes: 20 });
    partition.offer({ entries: entries(2), nextOffset: 3, endOffset: 9 }, 1_100);
    expect(partition.due(1_300)).toMatchObject({ min: 0, max: 1, next: 2 });
    partition.removeStored();
    expect(partition.due(1_300)).toMatchObject({ from: 2, min: 2, max: 2, next: 3 });
    expect(partition.position()).toEqual({ next: 3, end: 9 });
  });

  it('is due at once when it is full, by records or by bytes', () => {
    const byRecords = ranges(0, { ...wide, records: 2 });
    byRecords.offer({ entries: entries(0, 1, 2), nextOffset: 3, endOffset: 3 }, 0);
    expect(byRecords.due(0)).toMatchObject({ min: 0, max: 1 });
    expect(byRecords.dueAt()).toBe(0);
    expect(byRecords.ripe(1_000)).toBe(false);
    byRecords.removeStored();
    expect(byRecords.due(0)).toBeUndefined();
    const byBytes = ranges(0, { ...wide, bytes: 15 });
    byBytes.offer({ entries: entries(0, 1, 2), nextOffset: 3, endOffset: 3 }, 0);
    expect(byBytes.due(0)).toMatchObject({ min: 0, max: 1 });
    expect(byBytes.pending()).toEqual({ bytes: 30, records: 3 });
  });

  it('includes the markers after its last record', () => {
    const partition = ranges();
    partition.offer({ entries: entries(4, 6), nextOffset: 9, endOffset: 9 }, 0);
    expect(partition.due(0, true)).toMatchObject({ from: 0, min: 4, max: 6, next: 9 });
  });

  it('commits markers that no record follows', () => {
    const partition = ranges(3);
    partition.offer({ entries: [], nextOffset: 5, endOffset: 5 }, 0);
    expect(partition.due(0, true)).toMatchObject({ from: 3, next: 5, entries: [] });
    partition.offer({ entries: entries(5), nextOffset: 6, endOffset: 7 }, 0);
    partition.removeStored();
    partition.offer({ entries: [], nextOffset: 7, endOffset: 7 }, 0);
    expect(partition.due(0, true)).toMatchObject({ from: 5, min: 5, max: 5, next: 7 });
  });

  it('begins at its first record when the group has committed nothing', () => {
    const partition = ranges(-1);
    partition.offer({ entries: entries(40), nextOffset: 41, endOffset: 41 }, 0);
    expect(partition.due(0, true)).toMatchObject({ from: 40, min: 40 });
  });

  it('ignores records below the next expected offset', () => {
    const partition = ranges(5);
    partition.offer({ entries: entries(3, 4, 5, 6), nextOffset: 7, endOffset: 9 }, 0);
    partition.offer({ entries: entries(5, 6, 7), nextOffset: 8, endOffset: 9 }, 0);
    expect(partition.due(0, true)?.entries.map((entry) => entry.offset)).toEqual([5, 6, 7]);
  });
});

interface Arrival {
  readonly batches: readonly number[];
  readonly limits: Limits;
  readonly forced: readonly boolean[];
}

const arrivalArbitrary: fc.Arbitrary<Arrival> = fc.record({
  batches: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 30 }),
  limits: fc.record({
    records: fc.integer({ min: 1, max: 9 }),
    bytes: fc.integer({ min: 1, max: 90 }),
    waitMs: fc.integer({ min: 0, max: 9 }),
  }),
  forced: fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }),
});

it('contains every record once, in log order, without a gap between the commits', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 60 }), arrivalArbitrary, (visible, { batches, limits, forced }) => {
      const log = visible.map((seen, offset) => (seen ? { offset, bytes: 10 } : undefined));
      const partition = ranges(0, limits);
      const found: number[] = [];
      let [position, committed] = [0, 0];
      const flush = (nowMs: number, force: boolean): void => {
        for (let range = partition.due(nowMs, force); range !== undefined; range = partition.due(nowMs, force)) {
          expect(range.from).toBe(committed);
          expect(range.entries.length).toBeLessThanOrEqual(limits.records);
          found.push(...range.entries.map((entry) => entry.offset));
          committed = range.next;
          partition.removeStored();
        }
      };
      for (const [at, size] of batches.entries()) {
        const slots = log.slice(position, position + size);
        position += slots.length;
        const entriesOf = slots.filter((entry) => entry !== undefined);
        partition.offer({ entries: entriesOf, nextOffset: position, endOffset: log.length }, at * 3);
        flush(at * 3, forced[at % forced.length] ?? false);
      }
      flush(1_000, true);
      expect(found).toEqual(log.slice(0, position).flatMap((entry) => (entry === undefined ? [] : [entry.offset])));
      expect(committed).toBe(position);
    }),
    { numRuns: 2_000 },
  );
});
