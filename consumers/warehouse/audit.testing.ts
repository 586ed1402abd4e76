// Shared by the tests of the audit: a log and the tables that the sink filled from it.
import { afterAll, beforeAll, expect } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { connectStore, type ClickHouseStore } from '../../infra/clickhouse/client.ts';
import { randomEvents, seeded } from '../../infra/testing/events.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { migratedDatabase, startMigratedStore } from '../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../infra/testing/store.ts';
import type { Clock } from '../../streams/core/ports.ts';
import { audit, type AuditDeps, type AuditOptions, type AuditResult } from './audit.ts';
import { createWarehouse, lateTypes } from './warehouse.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

export const GROUP = 'memory.warehouse';

let server: TestStore;

beforeAll(async () => {
  server = await startMigratedStore();
});

afterAll(async () => {
  await server.stop();
});

export class AuditWorld {
  readonly log: MemoryLog;
  readonly store: ClickHouseStore;

  constructor(database: string, clock: Pick<Clock, 'now'> = Date) {
    this.log = new MemoryLog({ partitions: { rollouts: 2, tasks: 2 }, clock });
    this.store = connectStore({ url: server.url, database });
  }

  audit(options: AuditOptions = {}, more: Partial<AuditDeps> = {}): Promise<AuditResult> {
    return audit({
      reader: this.log.reader(),
      events: codecReader(this.log.codec),
      offsets: this.log.offsets,
      store: this.store,
      clock: systemClock,
      group: GROUP,
      options,
      ...more,
    });
  }

  /** Runs a sink until the audit sees no lag. */
  async sink(): Promise<void> {
    const warehouse = createWarehouse({
      group: this.log.group(),
      offsets: this.log.offsets,
      log: this.log.reader(),
      deadLetters: this.log.writer(),
      reader: codecReader(createCodec({ late: lateTypes })),
      store: this.store,
      clock: systemClock,
      logger: silentLogger,
      metrics: { count: () => undefined, set: () => undefined, observe: () => undefined },
      report: () => undefined,
      options: { group: GROUP, producer: 'warehouse/test', batchRecords: 100, maxWaitMs: 5 },
    });
    await warehouse.start();
    const result = await this.audit({ waitMs: 30_000 });
    expect(result.lag).toEqual([]);
    await warehouse.stop();
    await warehouse.finished;
  }

  async mutate(sql: string): Promise<void> {
    await this.store.command(sql, { settings: { mutations_sync: 2 } });
  }

  async scratch(): Promise<readonly object[]> {
    return this.store.query(
      `select name from system.tables where database = currentDatabase() and (name like 'audit%' or name like 'check%')`,
    );
  }
}

export async function filledWorld(): Promise<AuditWorld> {
  const world = new AuditWorld(migratedDatabase);
  await world.log.writer().append(randomEvents(300, seeded(1)));
  world.log.appendRaw('rollouts', [
    { key: 'x', value: Buffer.from('bad'), partition: 1 },
    { key: 'x', value: null, partition: 0 },
  ]);
  world.log.appendRaw('dead-letters', [{ key: 'x', value: Buffer.from('bad') }]);
  world.log.appendAborted('training', 0, 5);
  await world.log.writer().append(randomEvents(200, seeded(2)));
  await world.sink();
  return world;
}
