// The log no longer has the sink's position: nothing of such a partition is stored, the sink reports it, and `mend` makes the tables match
// the log again. Uses plain tables, which remember no tokens.
import { describe, expect, it } from 'vitest';
import { planStart } from './start-plan.ts';
import { OutOfRangeWorld, setUpOutOfRange } from './out-of-range.testing.ts';

setUpOutOfRange();

describe('a start', () => {
  const known = { committed: 50, intended: -1, first: 10, end: 90, top: -1 };

  it('reads from the committed offset, and queries the tables for records that they hold above it', () => {
    expect(planStart(known)).toEqual({ kind: 'read', from: 50, askBelow: 0 });
    expect(planStart({ ...known, top: 60 })).toEqual({ kind: 'read', from: 50, askBelow: 61 });
  });

  it('without a committed offset begins a range before the last stored record, but not before the log begins', () => {
    expect(planStart({ ...known, committed: -1 })).toEqual({ kind: 'read', from: -1, askBelow: 0 });
    expect(planStart({ ...known, committed: -1, top: 60 })).toEqual({ kind: 'read', from: 10, askBelow: 61 });
    const far = planStart({ committed: -1, intended: -1, first: 10, end: 9_000_000, top: 8_000_000 });
    expect(far).toEqual({ kind: 'read', from: 7_200_001, askBelow: 8_000_001 });
  });

  it('is refused if the log lost records that were stored, announced, or committed', () => {
    expect(planStart({ ...known, committed: 91 })).toEqual({ kind: 'tail-cut', from: 90, to: 91 });
    expect(planStart({ ...known, top: 90 })).toEqual({ kind: 'tail-cut', from: 90, to: 91 });
    expect(planStart({ ...known, intended: 90 })).toEqual({ kind: 'tail-cut', from: 90, to: 91 });
    expect(planStart({ ...known, committed: 90, top: 89 })).toEqual({ kind: 'read', from: 90, askBelow: 90 });
  });

  it('is refused if the log lost records that were not stored', () => {
    expect(planStart({ ...known, committed: 9 })).toEqual({ kind: 'head-cut', from: 9, to: 10 });
    expect(planStart({ ...known, committed: -1, top: 8 })).toEqual({ kind: 'head-cut', from: 9, to: 10 });
    expect(planStart({ ...known, committed: -1, top: 9 })).toMatchObject({ kind: 'read', from: 10 });
  });
});

describe('a cut tail', () => {
  it('is reported and stops only its partition, and the repair makes the tables match the log', async () => {
    const world = new OutOfRangeWorld();
    await world.stored(300, 1);
    await world.stop();
    const end = await world.end(1);
    world.log.cutTail('rollouts', 1, end - 9);
    await world.begin();
    await world.expectRed(/OFFSETS_OUT_OF_RANGE: rollouts\/1: the log ends at \d+ and has lost its records up to \d+.*warehouse mend/);
    await world.append(100, 2);
    await world.drained([0, 2]);
    expect(await world.committed(1)).toBe(end);
    await world.stop();
    expect(await world.wrong()).toMatchObject([{ topic: 'rollouts', partition: 1, mend: { removeFrom: end - 9, goOnAt: end - 9 } }]);
    await world.mend();
    await world.begin();
    await world.drained();
    world.expectExactlyOnce();
    expect(world.statuses.at(-1)?.detail).toBe('');
    expect(await world.wrong()).toEqual([]);
  });

  it('is detected while the sink runs', async () => {
    const world = new OutOfRangeWorld();
    await world.stored(300, 3);
    world.log.cutTail('rollouts', 2, (await world.end(2)) - 5);
    await world.expectRed(/rollouts\/2: the log ends at/);
  });

  it('is detected if its offsets were used again meanwhile, and repaired from the first difference on', async () => {
    const world = new OutOfRangeWorld();
    await world.stored(300, 4);
    await world.stop();
    const end = await world.end(0);
    world.log.cutTail('rollouts', 0, end - 6);
    for (let seed = 40; (await world.end(0)) < end + 30; seed += 1) await world.append(30, seed);
    await world.begin();
    await world.expectRed(/rollouts\/0: the log and the tables have different records at \d+/);
    await world.stop();
    expect(await world.wrong()).toMatchObject([{ state: 'tail-replaced', mend: { removeFrom: end - 6, goOnAt: end - 6 } }]);
    await world.mend();
    await world.begin();
    await world.drained();
    world.expectExactlyOnce();
  });
});

describe('a head that was deleted before it was stored', () => {
  it('is reported, and skipped only on request, with a count of its records', async () => {
    const world = new OutOfRangeWorld();
    await world.stored(200, 5);
    await world.stop();
    await world.append(200, 6);
    const from = await world.committed(0);
    world.log.deleteBefore('rollouts', 0, from + 4);
    await world.begin();
    await world.expectRed(new RegExp(`rollouts/0: offsets ${from} to ${from + 3} left the log before they were stored`));
    await world.drained([1, 2]);
    expect(await world.committed(0)).toBe(from);
    await world.stop();
    await world.mend();
    await world.begin();
    await world.drained();
    expect(world.counted).toContainEqual(['sink_skipped_records_total', 4]);
    const offsets = ['turns', 'trajectories', 'trajectory_starts', 'heartbeats', 'rewards'].flatMap((table) =>
      world.store.rows(table).flatMap((row) => (row['_partition'] === 0 ? [Number(row['_offset'])] : [])),
    );
    expect(new Set(offsets).size).toBe(offsets.length);
    expect(offsets.filter((offset) => offset >= from && offset < from + 4)).toEqual([]);
    expect(offsets.length).toBe((await world.end(0)) - 4);
  });
});
