// The sink with a real Kafka and the real engine: killed at every step, rebalanced in mid-batch, without its store.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { noMetrics, type RoleStatus } from '../../streams/core/telemetry.ts';
import { connectStore, type ClickHouseStore } from '../../infra/clickhouse/client.ts';
import { connectKafka, type KafkaConnection } from '../../infra/kafka/connect.ts';
import { createEventReader } from '../../infra/registry/event-reader.ts';
import { randomEvents, seeded } from '../../infra/testing/events.ts';
import { randomNamespace, useKafka } from '../../infra/testing/kafka.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { migratedDatabase, startMigratedStore } from '../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../infra/testing/store.ts';
import type { WarehouseProcess } from '../../infra/testing/warehouse-main.ts';
import { audit, type AuditResult } from './audit.ts';
import { createHoldings } from './holdings.ts';
import { mend, survey } from './mend.ts';
import { tableNames, warehouseTopics } from './rows/tables.ts';
import { createWarehouse, lateTypes } from './warehouse.ts';
import type { Warehouse } from './deps.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

const codec = createCodec();
const main = join(import.meta.dirname, '../../infra/testing/warehouse-main.ts');
let brokers: readonly string[];

beforeAll(async () => {
  ({ brokers } = await useKafka());
});

class KafkaWarehouse {
  readonly namespace = randomNamespace();
  readonly group = `${this.namespace}.warehouse`;
  readonly kafka: KafkaConnection;
  readonly server: TestStore;
  readonly store: ClickHouseStore;
  readonly #children: ChildProcess[] = [];
  readonly #warehouses: Warehouse[] = [];

  constructor(server: TestStore) {
    const { namespace } = this;
    this.server = server;
    this.kafka = connectKafka({ brokers, namespace, clientId: 'test', codec, logger: silentLogger, sessionTimeoutMs: 3_000 });
    this.store = connectStore({ url: server.url, database: migratedDatabase });
  }

  async open(): Promise<this> {
    const plan = warehouseTopics.map((topic) => ({ topic, partitions: topic === 'rollouts' ? 3 : 1, replication: 1, config: {} }));
    await this.kafka.topics.apply(plan);
    // Plain tables: the engine remembers no tokens.
    for (const table of tableNames) await this.store.command(`alter table ${table} modify setting non_replicated_deduplication_window = 0`);
    return this;
  }

  async append(count: number, seed: number): Promise<void> {
    await (await this.kafka.writer()).append(randomEvents(count, seeded(seed)));
  }

  async begin(batchRecords = 100): Promise<{ readonly warehouse: Warehouse; readonly statuses: RoleStatus[] }> {
    const statuses: RoleStatus[] = [];
    const warehouse = createWarehouse({
      group: this.kafka.group(),
      offsets: this.kafka.offsets,
      log: this.kafka.reader(),
      deadLetters: await this.kafka.writer(),
      reader: createEventReader(createCodec({ late: lateTypes }), { byId: async () => undefined }),
      store: this.store,
      clock: systemClock,
      logger: silentLogger,
      metrics: noMetrics,
      report: (status) => statuses.push(status),
      options: { group: this.group, producer: 'warehouse-test', batchRecords, maxWaitMs: 20, retryMs: { min: 50, max: 200 } },
    });
    this.#warehouses.push(warehouse);
    await warehouse.start();
    return { warehouse, statuses };
  }

  /** Runs a sink in its own process until it exits. */
  async runUntilKilled(end: NonNullable<WarehouseProcess['end']>, batchRecords: number): Promise<void> {
    const { namespace, group } = this;
    const at = { storeUrl: this.server.url, database: migratedDatabase };
    const settings: WarehouseProcess = { brokers, namespace, group, ...at, batchRecords, end };
    const child = spawn(process.execPath, ['--import', 'tsx', main, JSON.stringify(settings)], { stdio: ['ignore', 'ignore', 'inherit'] });
    this.#children.push(child);
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  }

  audit(): Promise<AuditResult> {
    return audit({
      reader: this.kafka.reader(),
      events: createEventReader(codec, { byId: async () => undefined }),
      offsets: this.kafka.offsets,
      store: this.store,
      clock: systemClock,
      group: this.group,
      options: { waitMs: 60_000 },
    });
  }

  async untilStored(): Promise<void> {
    const behind = async (): Promise<readonly unknown[]> => {
      const lags = await Promise.all(warehouseTopics.map((topic) => this.kafka.lag(this.group, topic)));
      return lags.flat().filter(({ lag }) => lag > 0);
    };
    await expect.poll(behind).toEqual([]);
  }

  async expectExactlyOnce(): Promise<void> {
    const result = await this.audit();
    expect(result.differences).toEqual([]);
    expect(result).toMatchObject({ ok: true, lag: [] });
  }

  async close(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL');
    await Promise.all(this.#warehouses.map((warehouse) => warehouse.stop()));
    await this.kafka.close();
    await this.store.close();
    await this.server.stop();
  }
}

async function inWorld(play: (world: KafkaWarehouse) => Promise<void>): Promise<void> {
  const world = new KafkaWarehouse(await startMigratedStore());
  try {
    await play(await world.open());
  } finally {
    await world.close();
  }
}

/** Views that have rows after events of every type, and all tables. */
const filled = ['runs', 'evaluations', 'dead_letters', 'tool_calls', 'tool_health', 'staleness_by_step', ...tableNames];

describe('exactly once', () => {
  it('survives kill -9 before and after its effects, and then has rows in every view', async () => {
    await inWorld(async (world) => {
      await world.append(600, 1);
      for (const topic of warehouseTopics) await world.kafka.appendRaw(topic, [{ key: 'k', value: Buffer.from(`bad on ${topic}`) }]);
      const ends: readonly NonNullable<WarehouseProcess['end']>[] = [
        { port: 'commit', call: 1, when: 'after' },
        { port: 'insert', call: 1, when: 'after' },
        { port: 'insert', call: 4, when: 'before' },
        { port: 'append', call: 1, when: 'after' },
        { port: 'commit', call: 2, when: 'before' },
        { port: 'commit', call: 4, when: 'after' },
      ];
      for (const [index, end] of ends.entries()) {
        await world.runUntilKilled(end, 40 + index * 7);
        await world.append(100, 10 + index);
      }
      await world.begin();
      await world.expectExactlyOnce();
      const letters = await world.store.query<{ topic: string; value: string }>(
        `select original_topic as topic, base64Decode(original_value_base64) as value from dead_letters where step = 'warehouse' order by topic`,
      );
      expect(letters).toEqual([...warehouseTopics].sort().map((topic) => ({ topic, value: `bad on ${topic}` })));
      for (const view of filled) expect((await world.store.query(`select * from ${view} limit 1`)).length, view).toBe(1);
    });
  });

  it('survives members that come and go in mid-batch', async () => {
    await inWorld(async (world) => {
      await world.append(1_000, 2);
      const first = await world.begin(30);
      await world.append(400, 3);
      const second = await world.begin(40);
      await world.append(400, 4);
      await first.warehouse.stop();
      await world.append(200, 5);
      await world.begin(150);
      await world.append(200, 6);
      await second.warehouse.stop();
      await world.expectExactlyOnce();
    });
  });

  it('waits for a store that was killed, and continues', async () => {
    await inWorld(async (world) => {
      await world.append(300, 7);
      const { statuses } = await world.begin(20);
      await world.server.kill();
      await world.append(500, 8);
      await expect.poll(() => statuses.at(-1)?.state).toBe('waiting');
      await world.server.restart();
      await world.expectExactlyOnce();
      await expect.poll(() => statuses.at(-1)).toMatchObject({ state: 'live', figures: { lag: 0 } });
    });
  });
});

describe('offsets', () => {
  it('that the broker has lost are found in the tables', async () => {
    await inWorld(async (world) => {
      await world.append(800, 21);
      const { warehouse } = await world.begin();
      await world.untilStored();
      await warehouse.stop();
      expect(await world.kafka.offsets.forget(world.group)).toBe(true);
      await world.append(200, 22);
      await world.begin(70);
      await world.expectExactlyOnce();
    });
  });

  it('beyond the end of a partition stop only that partition, stay as they are, and are repaired', async () => {
    await inWorld(async (world) => {
      await world.append(500, 23);
      const { warehouse } = await world.begin();
      await world.untilStored();
      await warehouse.stop();
      const at = async (): Promise<number> =>
        (await world.kafka.offsets.fetch(world.group, 'rollouts')).find(({ partition }) => partition === 1)?.offset ?? -1;
      const end = await at();
      await world.kafka.setOffsets(world.group, [{ topic: 'rollouts', partition: 1, offset: end + 5 }]);
      const { warehouse: red, statuses } = await world.begin();
      await expect.poll(() => statuses.at(-1)?.detail).toMatch(/OFFSETS_OUT_OF_RANGE: rollouts\/1: the log ends at/);
      await world.append(300, 24);
      await expect
        .poll(async () => (await world.kafka.lag(world.group, 'rollouts')).filter(({ partition, lag }) => partition !== 1 && lag > 0))
        .toEqual([]);
      expect(await at()).toBe(end + 5);
      await red.stop();
      const deps = {
        group: world.group,
        holdings: createHoldings(world.store),
        log: world.kafka.reader(),
        offsets: { ...world.kafka.offsets, set: world.kafka.setOffsets },
      };
      // The log has grown past that offset meanwhile; a commit beyond its end shows again that records are missing.
      await world.kafka.setOffsets(world.group, [{ topic: 'rollouts', partition: 1, offset: 1_000_000 }]);
      const found = await survey(deps);
      expect(found.filter((one) => one.mend !== undefined)).toMatchObject([{ topic: 'rollouts', partition: 1, state: 'tail-cut' }]);
      await mend(found, deps);
      await world.begin();
      await world.expectExactlyOnce();
    });
  });
});

describe('a refusal by the engine', () => {
  it('sends the row to dead-letters and keeps the others', async () => {
    await inWorld(async (world) => {
      await world.store.command('alter table turns add constraint hostile check turn % 5 != 3');
      await world.append(700, 9);
      await world.begin();
      await world.expectExactlyOnce();
      const refused = `select count() as found from dead_letters where reason = 'refused'`;
      const [{ found } = { found: 0 }] = await world.store.query<{ found: number }>(refused);
      expect(found).toBeGreaterThan(0);
      expect(await world.store.query('select 1 from turns where turn % 5 = 3')).toEqual([]);
    });
  });
});
