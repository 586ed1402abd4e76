// Shared by the tests of lost offsets: a sink, and a log that loses some of its records.
import { afterEach, expect, vi } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { noMetrics, type RoleStatus } from '../../streams/core/telemetry.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { randomEvents, seeded } from '../../infra/testing/events.ts';
import { actualRows, expectedRows } from '../../infra/testing/exactly-once.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { MemoryStore } from '../../infra/testing/memory-store.ts';
import { mend, survey, type SurveyedPartition } from './mend.ts';
import { warehouseTopics } from './rows/tables.ts';
import { createWarehouse, lateTypes } from './warehouse.ts';
import type { Warehouse } from './deps.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

export const GROUP = 'memory.warehouse';

const running: Warehouse[] = [];

/** Call it at the top level of a test file. */
export function setUpOutOfRange(): void {
  afterEach(async () => {
    await Promise.all(running.splice(0).map((warehouse) => warehouse.stop()));
  });
}

const eventually = (check: () => Promise<void> | void): Promise<void> => vi.waitFor(check, { timeout: 10_000, interval: 2 });

export class OutOfRangeWorld {
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

  /** Waits until the end of these partitions of rollouts, and of every other topic, is committed. */
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
