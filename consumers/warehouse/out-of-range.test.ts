// The log no longer has the sink's position: nothing of such a partition is stored, the sink reports it, and `mend` makes the tables match
// the log again. Uses plain tables, which remember no tokens.
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { noMetrics, type RoleStatus } from '../../streams/core/telemetry.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { randomEvents, seeded } from '../../infra/testing/events.ts';
import { actualRows, expectedRows } from '../../infra/testing/exactly-once.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { MemoryStore } from '../../infra/testing/memory-store.ts';
import { mend, survey, type SurveyedPartition } from './mend.ts';
import { planStart } from './start-plan.ts';
import { warehouseTopics } from './rows/tables.ts';
import { createWarehouse, lateTypes, type Warehouse } from './warehouse.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

const GROUP = 'memory.warehouse';
const running: Warehouse[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((warehouse) => warehouse.stop()));
});

const eventually = (check: () => Promise<void> | void): Promise<void> => vi.waitFor(check, { timeout: 10_000, interval: 2 });

class World {
  #nowMs = 1_790_000_000_000;
  /** Consecutive records have different times. */
  readonly log = new MemoryLog({ batchRecords: 7, partitions: { rollouts: 3, tasks: 2 }, clock: { now: () => (this.#nowMs += 1) } });
  readonly store = new MemoryStore();
  readonly statuses: RoleStatus[] = [];
  readonly counted: [string, number][] = [];

  constructor() {
    this.store.remembersTokens = false;
  }

  async append(count: number, seed: number): Promise<void> {
    await this.log.writer().append(randomEvents(count, seeded(seed)));
  }

  async begin(batchRecords = 10): Promise<Warehouse> {
    const warehouse = createWarehouse({
      group: this.log.group(),
      offsets: this.log.offsets,
      log: this.log.reader(),
      deadLetters: this.log.writer(),
      reader: codecReader(createCodec({ late: lateTypes })),
      store: this.store,
      holdings: this.store.holdings(),
      clock: systemClock,
      logger: silentLogger,
      metrics: { ...noMetrics, count: (name, _labels, by = 1) => this.counted.push([name, by]) },
      report: (status) => this.statuses.push(status),
      options: { group: GROUP, producer: 'warehouse/test', batchRecords, maxWaitMs: 2, retryMs: { min: 1, max: 2 } },
    });
    running.push(warehouse);
    await warehouse.start();
    return warehouse;
  }

  async stop(): Promise<void> {
    await Promise.all(running.splice(0).map((warehouse) => warehouse.stop()));
  }

  async committed(partition: number): Promise<number> {
    return (await this.log.offsets.fetch(GROUP, 'rollouts')).find((one) => one.partition === partition)!.offset;
  }

  end = async (partition: number): Promise<number> => (await this.log.reader().bounds('rollouts'))[partition]!.end;

  /** Waits until everything storable of the partitions is committed. */
  async drained(partitions = [0, 1, 2]): Promise<void> {
    await eventually(async () => {
      for (const partition of partitions) expect(Math.max(await this.committed(partition), 0)).toBe(await this.end(partition));
      for (const topic of warehouseTopics.filter((one) => one !== 'rollouts')) {
        const bounds = await this.log.reader().bounds(topic);
        for (const { partition, offset } of await this.log.offsets.fetch(GROUP, topic))
          expect(Math.max(offset, 0)).toBe(bounds[partition]!.end);
      }
    });
  }

  async stored(count: number, seed: number): Promise<void> {
    await this.append(count, seed);
    await this.begin();
    await this.drained();
  }

  #mending = () => ({
    group: GROUP,
    holdings: this.store.holdings(),
    log: this.log.reader(),
    offsets: {
      ...this.log.offsets,
      set: async (group: string, positions: Parameters<MemoryLog['setOffsets']>[1]) => {
        this.log.setOffsets(group, positions);
      },
    },
  });

  async wrong(): Promise<readonly SurveyedPartition[]> {
    return (await survey(this.#mending())).filter((one) => one.mend !== undefined);
  }

  async mend(): Promise<void> {
    await mend(await survey(this.#mending()), this.#mending());
  }

  async expectRed(text: RegExp): Promise<void> {
    await eventually(() => {
      expect(this.statuses.at(-1)).toMatchObject({ state: 'waiting', detail: expect.stringMatching(text) as string });
    });
  }

  expectExactlyOnce(): void {
    const records = warehouseTopics.flatMap((topic) => this.log.records(topic));
    expect(actualRows(this.store.tables)).toEqual(expectedRows(records, codecReader(this.log.codec)));
  }
}

describe('a start', () => {
  const known = { committed: 50, intended: -1, first: 10, end: 90, top: -1 };

  it('goes on at what is committed, and asks for what the tables hold above it', () => {
    expect(planStart(known)).toEqual({ kind: 'read', from: 50, askBelow: 0 });
    expect(planStart({ ...known, top: 60 })).toEqual({ kind: 'read', from: 50, askBelow: 61 });
  });

  it('without an offset goes back from what the tables hold by more than a range, and no further than the log', () => {
    expect(planStart({ ...known, committed: -1 })).toEqual({ kind: 'read', from: -1, askBelow: 0 });
    expect(planStart({ ...known, committed: -1, top: 60 })).toEqual({ kind: 'read', from: 10, askBelow: 61 });
    const far = planStart({ committed: -1, intended: -1, first: 10, end: 9_000_000, top: 8_000_000 });
    expect(far).toEqual({ kind: 'read', from: 7_200_001, askBelow: 8_000_001 });
  });

  it('is refused where the log has lost what was stored, announced or committed', () => {
    expect(planStart({ ...known, committed: 91 })).toEqual({ kind: 'tail-cut', from: 90, to: 91 });
    expect(planStart({ ...known, top: 90 })).toEqual({ kind: 'tail-cut', from: 90, to: 91 });
    expect(planStart({ ...known, intended: 90 })).toEqual({ kind: 'tail-cut', from: 90, to: 91 });
    expect(planStart({ ...known, committed: 90, top: 89 })).toEqual({ kind: 'read', from: 90, askBelow: 90 });
  });

  it('is refused where the log has lost what was not stored', () => {
    expect(planStart({ ...known, committed: 9 })).toEqual({ kind: 'head-cut', from: 9, to: 10 });
    expect(planStart({ ...known, committed: -1, top: 8 })).toEqual({ kind: 'head-cut', from: 9, to: 10 });
    expect(planStart({ ...known, committed: -1, top: 9 })).toMatchObject({ kind: 'read', from: 10 });
  });
});

describe('a cut tail', () => {
  it('is said and stops its partition alone, and is mended by what the log has', async () => {
    const world = new World();
    await world.stored(300, 1);
    await world.stop();
    const end = await world.end(1);
    world.log.cutTail('rollouts', 1, end - 9);
    await world.begin();
    await world.expectRed(/OFFSETS_OUT_OF_RANGE: rollouts\/1: the log ends at \d+ and has lost what was up to \d+.*warehouse mend/);
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

  it('is seen while the sink runs', async () => {
    const world = new World();
    await world.stored(300, 3);
    world.log.cutTail('rollouts', 2, (await world.end(2)) - 5);
    await world.expectRed(/rollouts\/2: the log ends at/);
  });

  it('is seen, and mended where both part, when its offsets were used again before anybody looked', async () => {
    const world = new World();
    await world.stored(300, 4);
    await world.stop();
    const end = await world.end(0);
    world.log.cutTail('rollouts', 0, end - 6);
    for (let seed = 40; (await world.end(0)) < end + 30; seed += 1) await world.append(30, seed);
    await world.begin();
    await world.expectRed(/rollouts\/0: the log has another record at \d+ than the tables/);
    await world.stop();
    expect(await world.wrong()).toMatchObject([{ state: 'tail-replaced', mend: { removeFrom: end - 6, goOnAt: end - 6 } }]);
    await world.mend();
    await world.begin();
    await world.drained();
    world.expectExactlyOnce();
  });
});

describe('a head that was deleted before it was stored', () => {
  it('is said, and skipped only on request, which is counted', async () => {
    const world = new World();
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
    const offsets = ['turns', 'trajectories', 'trajectory_starts', 'heartbeats'].flatMap((table) =>
      world.store.rows(table).flatMap((row) => (row['_partition'] === 0 ? [Number(row['_offset'])] : [])),
    );
    expect(new Set(offsets).size).toBe(offsets.length);
    expect(offsets.filter((offset) => offset >= from && offset < from + 4)).toEqual([]);
    expect(offsets.length).toBe((await world.end(0)) - 4);
  });
});

describe('any order of lost offsets, cut tails and broken inserts', () => {
  it('leaves every record of the log in the tables once', async () => {
    const step = fc.record({
      events: fc.integer({ min: 1, max: 40 }),
      cut: fc.nat({ max: 12 }),
      refill: fc.nat({ max: 30 }),
      forget: fc.boolean(),
      tear: fc.boolean(),
      drain: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const world = new World();
        for (const [seed, { events, cut, refill, forget, tear, drain }] of steps.entries()) {
          let torn = !tear;
          world.store.tears = () => !torn && (torn = true);
          await world.append(events, seed);
          await world.begin(3 + seed);
          if (drain) await world.drained();
          await world.stop();
          const end = await world.end(1);
          world.log.cutTail('rollouts', 1, Math.max(0, end - cut));
          if (refill > 0) await world.append(refill, seed + 100);
          if (forget) world.log.forgetOffsets(GROUP);
          await world.mend();
        }
        await world.begin();
        await world.drained();
        world.expectExactlyOnce();
        await world.stop();
      }),
      { numRuns: 12 },
    );
  }, 120_000);
});
