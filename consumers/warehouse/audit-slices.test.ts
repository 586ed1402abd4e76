import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { offsetsOf, Pace, sampledSlices, slicesOf, type OffsetWindow } from './audit-slices.ts';

const windows = fc
  .array(fc.record({ first: fc.nat(10_000), length: fc.nat(5_000) }), { minLength: 1, maxLength: 8 })
  .map((all) => all.map(({ first, length }, partition): OffsetWindow => ({ partition, first, end: first + length })));

/** The offsets of each partition in all slices, in order. */
function covered(slices: Iterable<readonly OffsetWindow[]>): ReadonlyMap<number, readonly [number, number][]> {
  const parts = new Map<number, [number, number][]>();
  for (const slice of slices) {
    for (const { partition, first, end } of slice) parts.set(partition, [...(parts.get(partition) ?? []), [first, end]]);
  }
  return parts;
}

describe('slices', () => {
  it('cover every offset once, in order, whatever their size becomes', () => {
    fc.assert(
      fc.property(windows, fc.array(fc.integer({ min: 1, max: 4_000 }), { minLength: 1, maxLength: 20 }), (all, sizes) => {
        let at = 0;
        const parts = covered(slicesOf(all, () => sizes[at++ % sizes.length] ?? 1));
        for (const { partition, first, end } of all) {
          const own = parts.get(partition) ?? [];
          expect(own.map(([from]) => from)).toEqual(first === end ? [] : [first, ...own.slice(0, -1).map(([, to]) => to)]);
          expect(own.at(-1)?.[1] ?? first).toBe(end);
        }
      }),
    );
  });

  it('have about the requested size, and take the same share of every partition', () => {
    const all = [0, 1].map((partition) => ({ partition, first: 0, end: 1_000 * (partition + 1) }));
    const [first] = [...slicesOf(all, () => 300)];
    expect(first).toEqual([
      { partition: 0, first: 0, end: 100 },
      { partition: 1, first: 0, end: 200 },
    ]);
  });
});

describe('a sample', () => {
  it('is some of the slices, at least one, and the same for the same seed', () => {
    fc.assert(
      fc.property(windows, fc.double({ min: 0.01, max: 1, noNaN: true }), fc.nat(), (all, share, seed) => {
        const drawn = [...sampledSlices(all, { share, seed })];
        expect([...sampledSlices(all, { share, seed })]).toEqual(drawn);
        expect(drawn.length > 0).toBe(offsetsOf(all) > 0);
        for (const [partition, parts] of covered(drawn)) {
          const window = all[partition]!;
          parts.forEach(([from, to], at) => {
            expect(from).toBeGreaterThanOrEqual(at === 0 ? window.first : parts[at - 1]![1]);
            expect(to).toBeLessThanOrEqual(window.end);
          });
        }
      }),
    );
  });

  it('has about the requested share, from the whole log', () => {
    const all = [{ partition: 0, first: 0, end: 1_000_000 }];
    for (const share of [0.01, 0.05, 0.5, 1]) {
      const drawn = [...sampledSlices(all, { share, seed: 3 })].flat();
      expect(offsetsOf(drawn) / 1_000_000).toBeCloseTo(share, 1);
      expect(drawn.length).toBeGreaterThanOrEqual(8);
      expect(drawn.at(-1)!.end).toBeGreaterThan(850_000);
    }
  });
});

describe('the pace of an audit', () => {
  it('follows how long a slice takes, within bounds', () => {
    const pace = new Pace();
    expect(pace.size).toBe(20_000);
    pace.took(4_000);
    expect(pace.size).toBe(40_000);
    pace.took(32_000);
    expect(pace.size).toBe(10_000);
    pace.tooLarge();
    expect(pace.size).toBe(2_500);
    pace.tooLarge();
    expect(pace.size).toBe(1_000);
    for (let slice = 0; slice < 20; slice += 1) pace.took(1);
    expect(pace.size).toBe(250_000);
  });
});
