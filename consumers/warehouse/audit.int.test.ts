// The audit with the real engine; the in-memory log passes the same contract tests as Kafka's.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from 'node:crypto';
import { createCodec } from '../../schemas/codec.ts';
import { connectStore, type ClickHouseStore } from '../../infra/clickhouse/client.ts';
import { migrate } from '../../infra/clickhouse/migrate.ts';
import { randomEvents, seeded } from '../../infra/testing/events.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { startTestStore, type TestStore } from '../../infra/testing/store.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Clock } from '../../streams/core/ports.ts';
import { audit, type AuditDeps, type AuditOptions, type AuditProgress, type AuditResult } from './audit.ts';
import type { AuditState, Difference } from './audit-findings.ts';
import { tableNames, warehouseTopics } from './rows/tables.ts';
import { createWarehouse, lateTypes } from './warehouse.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

const GROUP = 'memory.warehouse';
let server: TestStore;

beforeAll(async () => {
  server = await startTestStore();
});

afterAll(async () => {
  await server.stop();
});

class World {
  readonly log: MemoryLog;
  readonly store: ClickHouseStore;

  constructor(url: string, clock: Pick<Clock, 'now'> = Date) {
    this.log = new MemoryLog({ partitions: { rollouts: 2, tasks: 2 }, clock });
    this.store = connectStore({ url, database: `test_${randomBytes(6).toString('hex')}` });
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

async function filledWorld(): Promise<World> {
  const world = new World(server.url);
  await migrate(world.store);
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

describe('the audit of tables that were left alone', () => {
  let world: World;

  beforeAll(async () => {
    world = await filledWorld();
  });

  it('finds both sides equal, every table filled, and leaves nothing behind', async () => {
    const result = await world.audit();
    expect(result).toMatchObject({ ok: true, differences: [], lag: [], deadLetters: 3, moreDifferences: false });
    expect(new Set(result.topics.map(({ table }) => table))).toEqual(new Set(tableNames));
    expect(result.records).toBe(warehouseTopics.flatMap((topic) => world.log.records(topic)).length);
    expect(await world.scratch()).toEqual([]);
  });

  it('reports what the sink has yet to do as lag, not as a difference', async () => {
    await world.log.writer().append(randomEvents(50, seeded(3)));
    world.log.appendRaw('tasks', [{ key: 'x', value: Buffer.from('bad') }]);
    const behind = await world.audit({ waitMs: 50 });
    expect(behind.differences).toEqual([]);
    expect(behind.ok).toBe(false);
    expect(behind.lag.reduce((sum, { records }) => sum + records, 0)).toBe(51);
    expect((await world.audit({ allowLag: true })).ok).toBe(true);
    await world.sink();
    expect((await world.audit()).ok).toBe(true);
  });

  it('compares only what retention has left in the log', async () => {
    world.log.deleteBefore('rollouts', 0, 20);
    expect(await world.audit()).toMatchObject({ ok: true });
  });

  it('accepts a record that could not be read when it was stored and can be now', async () => {
    const log = world.log;
    const known = codecReader(log.codec);
    await world.log.writer().append(randomEvents(3, seeded(4), ['WorkerHeartbeat', 'DeadLettered']));
    const strange = log.records('rollouts').at(-1)!;
    const letter = log.records('dead-letters').at(-1)!;
    const warehouse = createWarehouse({
      group: log.group(),
      offsets: log.offsets,
      log: log.reader(),
      deadLetters: log.writer(),
      reader: {
        read: (record) =>
          [strange, letter].includes(record) ? { ok: false, record, reason: 'unknown_schema', error: 'not yet known' } : known.read(record),
      },
      store: world.store,
      clock: systemClock,
      logger: silentLogger,
      metrics: { count: () => undefined, set: () => undefined, observe: () => undefined },
      report: () => undefined,
      options: { group: GROUP, producer: 'warehouse/test', batchRecords: 100, maxWaitMs: 5 },
    });
    await warehouse.start();
    expect(await world.audit({ waitMs: 30_000 })).toMatchObject({ ok: true, lag: [] });
    await warehouse.stop();
  });

  it('removes what a killed audit left behind, after a day', async () => {
    const day = 86_400_000;
    await world.store.command(`create table audit_scratch_${Date.now() - 2 * day}_ab_turns (a Int32) engine = Null`);
    await world.store.command(`create table audit_scratch_${Date.now()}_cd_turns (a Int32) engine = Null`);
    await world.audit();
    expect(await world.scratch()).toEqual([{ name: expect.stringMatching(/_cd_turns$/) as string }]);
  });
});

describe('the audit of a long log', () => {
  let world: World;
  let whole: AuditResult;

  beforeAll(async () => {
    world = await filledWorld();
    whole = await world.audit();
  });

  it('finds in slices of any size what it finds at once, and tells how far it is', async () => {
    const told: AuditProgress[] = [];
    const result = await world.audit({ sliceRecords: 80 }, { onProgress: (progress) => told.push(progress) });
    expect(result).toEqual(whole);
    expect(told.map(({ records }) => records)).toEqual(told.map(({ records }) => records).sort((a, b) => a - b));
    expect(new Set(told.map(({ topic }) => topic))).toEqual(new Set(warehouseTopics));
    expect(told.at(-1)).toMatchObject({ records: told[0]!.of, differences: 0 });
  });

  it('is whole when it was stopped after any slice and resumed, also by records that came meanwhile', async () => {
    let state: AuditState | undefined;
    let result: AuditResult | undefined;
    let tries = 0;
    for (; result?.complete !== true; tries += 1) {
      const stop = new AbortController();
      const onSlice = (reached: AuditState): void => {
        state = JSON.parse(JSON.stringify(reached)) as AuditState;
        if (tries < 3) stop.abort();
      };
      result = await world.audit(
        { sliceRecords: 150, ...(state === undefined ? {} : { resume: state }) },
        { onSlice, signal: stop.signal },
      );
      expect(result.ok).toBe(result.complete);
    }
    expect(tries).toBe(4);
    expect(result).toEqual(whole);
    expect(await world.scratch()).toEqual([]);
  });

  it('asks for less when a query reaches a limit, and gives up when there is no less', async () => {
    const { store } = world;
    const limit = (most: number): Pick<AuditDeps, 'store'> => ({
      store: {
        database: store.database,
        ping: () => store.ping(),
        stream: (...asked) => store.stream(...asked),
        command: (...asked) => store.command(...asked),
        insert: (...asked) => store.insert(...asked),
        close: () => store.close(),
        async query(sql, options) {
          const { ends = [], firsts = [] } = (options?.params ?? {}) as { ends?: number[]; firsts?: number[] };
          const asked = ends.reduce((sum, end, at) => sum + end - (firsts[at] ?? end), 0);
          if (asked <= most) return store.query(sql, options);
          throw new PlatformError('STORE_UNAVAILABLE', 'querying: too slow', { context: { clickhouseCode: 159 } });
        },
      },
    });
    expect(await world.audit({}, limit(120))).toEqual(whole);
    await expect(world.audit({}, limit(10))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await world.scratch()).toEqual([]);
  });

  it('as a sample compares some of it, and finds what is wrong there', async () => {
    const sample = { share: 0.3, seed: 5 };
    const some = await world.audit({ sample });
    expect(some).toMatchObject({ ok: true, complete: true, sample, differences: [] });
    expect(some.records).toBeGreaterThan(0);
    expect(some.records).toBeLessThan(whole.records);
    expect(await world.audit({ sample: { share: 1, seed: 5 } })).toEqual({ ...whole, sample: { share: 1, seed: 5 } });
    await world.mutate('alter table turns delete where 1');
    expect(await world.audit({ sample })).toMatchObject({ ok: false });
  });

  it('leaves out what retention takes while it reads', async () => {
    const { log } = world;
    const reader = log.reader();
    let taken = false;
    const readToEnd: typeof reader.readToEnd = async (topic, options) => {
      if (topic === 'tasks' && !taken) {
        taken = true;
        log.deleteBefore('tasks', 0, 3);
      }
      await reader.readToEnd(topic, options);
    };
    const result = await world.audit({}, { reader: { ...reader, readToEnd } });
    expect(taken).toBe(true);
    expect(result.differences.filter(({ table }) => table === 'tasks')).toEqual([]);
  });
});

it('stores records of any time, however many months they claim to be of', async () => {
  let months = 0;
  const claimed = { now: () => Date.UTC(1800, 60 * (months += 1)) };
  const world = new World(server.url, claimed);
  await migrate(world.store);
  await world.log.writer().append(randomEvents(150, seeded(5), ['TurnRecorded']));
  world.log.appendRaw('tasks', [{ key: 'x', value: Buffer.from('bad') }]);
  await world.sink();
  expect(await world.audit()).toMatchObject({ ok: true, deadLetters: 1 });
});

describe('the audit of tables that were tampered with', () => {
  let world: World;

  beforeAll(async () => {
    world = await filledWorld();
  });

  it('detects one cell changed, one row doubled and one row removed, in every table', async () => {
    const places = await Promise.all(
      tableNames.map(async (table) => {
        const [row] = await world.store.query<{ partition: number; offset: number }>(
          `select _partition as partition, _offset as offset from ${table} order by _topic, _partition, _offset limit 1`,
        );
        return { table, ...row!, where: `_partition = ${row!.partition} and _offset = ${row!.offset}` };
      }),
    );
    const differing = async (kind: Difference['kind']): Promise<Difference[]> => {
      const result = await world.audit({ differences: 100 });
      expect(result.ok).toBe(false);
      const found = result.differences.filter((one) => one.kind === kind);
      for (const { table, partition, offset } of places) {
        expect(found, `${kind} in ${table}`).toContainEqual(expect.objectContaining({ table, partition, offset }));
        expect(result.topics.filter((one) => one.table === table && !one.equal)).toHaveLength(1);
      }
      return found;
    };

    for (const { table, where } of places)
      await world.mutate(`alter table ${table} update producer = concat(producer, '!') where ${where}`);
    const changed = await differing('changed');
    expect(changed).toHaveLength(tableNames.length);
    for (const { columns } of changed) expect(new Set(columns.map(({ column }) => column))).toEqual(new Set(['producer']));

    for (const { table, where } of places) {
      await world.mutate(`alter table ${table} update producer = substring(producer, 1, length(producer) - 1) where ${where}`);
    }
    expect((await world.audit()).ok).toBe(true);

    for (const { table, where } of places) await world.store.command(`insert into ${table} select * from ${table} where ${where} limit 1`);
    expect(await differing('extra')).toHaveLength(tableNames.length);

    for (const { table, where } of places) await world.mutate(`alter table ${table} delete where ${where}`);
    await differing('missing');
    expect(await world.scratch()).toEqual([]);
  });

  it('detects a removed dead letter, rows of no record and rows beyond the end', async () => {
    await world.mutate(`alter table dead_letter_events delete where step = 'warehouse' and original_topic = 'rollouts'`);
    const result = await world.audit({ differences: 100 });
    expect(result.differences.filter(({ kind }) => kind === 'uncovered')).toHaveLength(2);
    for (const change of [`_partition + 7 as _partition`, `_offset + 1000000 as _offset`, `'elsewhere' as _topic`]) {
      await world.store.command(`insert into turns select * replace (${change}) from turns limit 1`);
    }
    const extra = (await world.audit({ differences: 100 })).differences.filter(({ table, kind }) => table === 'turns' && kind === 'extra');
    expect(extra).toHaveLength(3);
  });

  it('names no more differences than it was asked to', async () => {
    await world.mutate(`alter table turns delete where 1`);
    const result = await world.audit({ differences: 3 });
    expect(result.differences).toHaveLength(3);
    expect(result).toMatchObject({ ok: false, moreDifferences: true });
  });
});
