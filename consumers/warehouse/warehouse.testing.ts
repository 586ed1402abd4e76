// Shared by the tests of the sink: a sink with a log and a store in memory, which can be killed or frozen at any of its calls.
import { afterEach, expect, vi } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import type { EventReader, EventWriter, GroupConsumer, GroupSession, Store } from '../../streams/core/ports.ts';
import { noMetrics, type RoleStatus } from '../../streams/core/telemetry.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { actualRows, expectedRows } from '../../infra/testing/exactly-once.ts';
import { createRecordingLogger } from '../../infra/testing/logger.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { MemoryStore } from '../../infra/testing/memory-store.ts';
import { warehouseTopics } from './rows/tables.ts';
import { createWarehouse, lateTypes } from './warehouse.ts';
import type { Warehouse, WarehouseOptions } from './deps.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

export const GROUP = 'memory.warehouse';

export const running: Warehouse[] = [];

/** Call it at the top level of a test file. */
export function setUpWarehouse(): void {
  afterEach(async () => {
    await Promise.all(running.splice(0).map((warehouse) => warehouse.stop()));
  });
}

interface RunningWarehouse {
  readonly warehouse: Warehouse;
  readonly statuses: RoleStatus[];
  readonly lines: ReturnType<typeof createRecordingLogger>['lines'];
  /** From now on, none of its actions has any effect, and the group notices. */
  kill(): void;
}

export const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 10_000, interval: 2 });

export class WarehouseWorld {
  readonly log: MemoryLog;
  readonly store = new MemoryStore();
  readonly reader: EventReader;
  readonly traps: Trap[] = [];
  /** How far the clock is advanced for a frozen process, beyond any session timeout of its group. */
  frozenMs = 0;

  constructor(batchRecords = 7) {
    this.log = new MemoryLog({ batchRecords, partitions: { rollouts: 3, tasks: 2 } });
    this.reader = codecReader(createCodec({ late: lateTypes }));
  }

  async begin(options: Partial<WarehouseOptions> = {}, reader = this.reader): Promise<RunningWarehouse> {
    const mortal = new Mortal(this.traps);
    const group = mortal.group(this.log.group());
    const statuses: RoleStatus[] = [];
    const logger = createRecordingLogger();
    const warehouse = createWarehouse({
      group,
      offsets: this.log.offsets,
      log: this.log.reader(),
      deadLetters: mortal.writer(this.log.writer()),
      reader,
      store: mortal.store(this.store),
      holdings: this.store.holdings(),
      clock: { ...systemClock, monotonic: () => performance.now() + this.frozenMs },
      logger,
      metrics: noMetrics,
      report: (status) => statuses.push(status),
      options: { group: GROUP, producer: 'warehouse/test', batchRecords: 10, maxWaitMs: 2, retryMs: { min: 1, max: 2 }, ...options },
    });
    running.push(warehouse);
    mortal.leave = () => {
      running.splice(running.indexOf(warehouse), 1);
      void group.close();
      void warehouse.stop();
    };
    await warehouse.start();
    return {
      warehouse,
      statuses,
      lines: logger.lines,
      kill: () => {
        mortal.die();
      },
    };
  }

  /** Waits until everything in the log is committed. */
  async drained(): Promise<void> {
    await vi.waitFor(
      async () => {
        for (const topic of warehouseTopics) {
          for (const { partition, offset } of await this.log.offsets.fetch(GROUP, topic)) {
            const last = this.log.records(topic).findLast((record) => record.partition === partition);
            if (last !== undefined) expect(offset, `${topic}/${partition}`).toBeGreaterThan(last.offset);
          }
        }
      },
      { timeout: 10_000, interval: 1 },
    );
  }

  expectExactlyOnce(): void {
    const records = warehouseTopics.flatMap((topic) => this.log.records(topic));
    expect(actualRows(this.store.tables)).toEqual(expectedRows(records, codecReader(this.log.codec)));
  }
}

export type Port = 'commit' | 'insert' | 'append';

/** Something that happens to a process at one of its calls. */
export interface Trap {
  readonly port: Port;
  readonly when: 'before' | 'after';
  /** Number of calls that pass first. */
  left: number;
  readonly spring: (process: Mortal) => Promise<void> | void;
}

/** Ports of a process that may be killed or frozen at any call; once it is dead, no call has an effect or returns. */
class Mortal {
  leave: () => void = () => undefined;
  #dead = false;
  readonly #traps: Trap[];

  constructor(traps: Trap[]) {
    this.#traps = traps;
  }

  die(): void {
    this.#dead = true;
    this.leave();
  }

  async #call<T>(port: Port, work: () => Promise<T>): Promise<T> {
    await this.#at(port, 'before');
    const value = await work();
    await this.#at(port, 'after');
    return value;
  }

  async #at(port: Port, when: Trap['when']): Promise<void> {
    const index = this.#traps.findIndex((trap) => trap.port === port && trap.when === when);
    const trap = this.#traps[index];
    if (!this.#dead && trap !== undefined && (trap.left -= 1) < 0) {
      this.#traps.splice(index, 1);
      await trap.spring(this);
    }
    if (this.#dead) await new Promise(() => undefined);
  }

  store(store: MemoryStore): Store {
    return {
      database: store.database,
      ping: () => store.ping(),
      query: () => store.query(),
      stream: () => store.stream(),
      command: (sql) => this.#call('insert', () => store.command(sql)),
      insert: (table, rows, as) => this.#call('insert', () => store.insert(table, rows, as)),
      close: () => store.close(),
    };
  }

  writer(writer: EventWriter): EventWriter {
    return { ...writer, append: (events) => this.#call('append', () => writer.append(events)) };
  }

  group(group: GroupConsumer): GroupConsumer {
    const session = (inner: GroupSession): GroupSession => ({
      commit: (positions) => this.#call('commit', () => inner.commit(positions)),
      heartbeat: () => inner.heartbeat(),
      isOver: () => inner.isOver(),
    });
    return {
      ...group,
      start: (options) =>
        group.start({
          ...options,
          onAssigned: async (assigned, inner) => options.onAssigned?.(assigned, session(inner)) ?? [],
          onBatch: async (batch, inner) => options.onBatch(batch, session(inner)),
        }),
    };
  }
}

export const ticks = async (count: number): Promise<void> => {
  for (let tick = 0; tick < count; tick += 1) await new Promise((resolve) => setImmediate(resolve));
};
