import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventTopic } from '../../schemas/generated/events.ts';
import { announce, announced, bundled, tokenOf, type PartitionBounds, type PartitionRange } from './bundle.ts';
import type { RangeEntry } from './range.ts';

const offset = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const boundsArbitrary: fc.Arbitrary<readonly PartitionBounds[]> = fc.uniqueArray(
  fc.record({ partition: fc.nat({ max: 99_999 }), min: offset, max: offset }).map(({ partition, min, max }) => {
    return { partition, min: Math.min(min, max), max: Math.max(min, max) };
  }),
  { minLength: 1, maxLength: 16, selector: ({ partition }) => partition },
);

describe('an announcement', () => {
  it('is read back unchanged for each of its partitions, and fits into the metadata of a commit', () => {
    fc.assert(
      fc.property(boundsArbitrary, (bounds) => {
        const text = announce(bounds);
        expect(text.length).toBeLessThan(4_096);
        for (const { partition } of bounds) expect(announced(text, partition)).toEqual(bounds);
      }),
    );
  });

  it.each(['', 'v1:3:2', 'v1:1', 'v1:-1:2', 'v2:7:1:2', 'v2:7:1:2,7:3:4', 'v2:7:1:2,8:4:3', 'v2:1:1:2,2:1:2', 'v2:7:1:2,', 'anything'])(
    '%j announces nothing',
    (metadata) => {
      expect(announced(metadata, 7)).toBeUndefined();
    },
  );
});

const stamped = (...times: readonly number[]) => times.map((timestampMs, offset) => ({ offset, bytes: 1, record: { timestampMs } }));

describe('a token', () => {
  it('of one partition is readable', () => {
    const entries = stamped(17, 4, 11);
    expect(tokenOf({ topic: 'rollouts', bounds: [{ partition: 2, min: 5, max: 9 }], entries }, 'turns')).toBe('rollouts-2-5-9-4_17-turns');
  });

  it('depends on the timestamps of the records at its offsets, but not on their order', () => {
    const bounds = [{ partition: 2, min: 5, max: 9 }];
    const token = (...times: readonly number[]) => tokenOf({ topic: 'rollouts', bounds, entries: stamped(...times) }, 'turns');
    expect(token(4, 11, 17)).toBe(token(17, 11, 4));
    expect(token(4, 11, 17)).not.toBe(token(4, 11, 18));
  });

  it('is the same for the same bundle and table, and different for any others', () => {
    fc.assert(
      fc.property(boundsArbitrary, boundsArbitrary, (one, other) => {
        const entries = stamped(1);
        const again = announced(announce(one), one[0]!.partition)!;
        expect(tokenOf({ topic: 'rollouts', bounds: again, entries }, 'turns')).toBe(
          tokenOf({ topic: 'rollouts', bounds: one, entries }, 'turns'),
        );
        const tokens = [one, other].flatMap((bounds) =>
          (['rollouts', 'tasks'] as const).flatMap((topic) =>
            (['turns', 'tasks'] as const).map((table) => tokenOf({ topic, bounds, entries }, table)),
          ),
        );
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(new Set(tokens).size).toBe(same ? 4 : 8);
      }),
    );
  });
});

describe('bundling', () => {
  const rangesArbitrary = fc.array(fc.record({ topic: fc.constantFrom<EventTopic>('rollouts', 'tasks'), records: fc.nat({ max: 12 }) }), {
    maxLength: 50,
  });

  const rangesOf = (wanted: readonly { readonly topic: EventTopic; readonly records: number }[]): readonly PartitionRange<RangeEntry>[] =>
    wanted.map(({ topic, records }, partition) => {
      const entries = Array.from({ length: records }, (_, at): RangeEntry => ({ offset: 100 * partition + at, bytes: 10 }));
      const [min, max] = [entries[0]?.offset ?? 0, entries.at(-1)?.offset ?? 0];
      return { topic, partition, range: { min, max, from: min, next: max + 1, entries, bytes: records * 10 }, asks: false };
    });

  it('puts each range into one bundle of its topic, within the limits, and commits all of them', () => {
    fc.assert(
      fc.property(rangesArbitrary, fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 400 }), (wanted, records, bytes) => {
        const ranges = rangesOf(wanted);
        const { bundles, commits } = bundled(ranges, { records, bytes });
        const within = bundles.flatMap(({ topic, bounds }) => bounds.map((one) => ({ topic, ...one })));
        const full = ranges.filter(({ range }) => range.entries.length > 0);
        const byPartition = (a: { readonly partition: number }, b: { readonly partition: number }): number => a.partition - b.partition;
        expect([...within].sort(byPartition)).toEqual(
          full.map(({ topic, partition, range }) => ({ topic, partition, min: range.min, max: range.max })),
        );
        for (const { bounds, entries } of bundles) {
          const offsets = bounds.flatMap(({ partition }) => ranges[partition]!.range.entries);
          expect(entries).toEqual(offsets);
          if (bounds.length === 1) continue;
          expect(bounds.length).toBeLessThanOrEqual(16);
          expect(entries.length).toBeLessThanOrEqual(records);
          expect(entries.length * 10).toBeLessThanOrEqual(bytes);
        }
        expect(commits.map(({ partition, from, next }) => ({ partition, from, next }))).toEqual(
          ranges.map(({ partition, range }) => ({ partition, from: range.from, next: range.next })),
        );
        for (const { partition, metadata } of commits) {
          const bundle = bundles.find(({ bounds }) => bounds.some((one) => one.partition === partition));
          expect(metadata).toBe(bundle === undefined ? '' : announce(bundle.bounds));
        }
      }),
    );
  });
});
