// The audit with the real engine; the in-memory log passes the same contract tests as Kafka's.
import { beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../infra/clickhouse/migrate.ts';
import { randomEvents, seeded } from '../../infra/testing/events.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { tableNames, warehouseTopics } from './rows/tables.ts';
import { createWarehouse } from './warehouse.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';
import { AuditWorld, GROUP, filledWorld } from './audit.testing.ts';

describe('the audit of unmodified tables', () => {
  let world: AuditWorld;

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

  it('reports records that the sink has not stored yet as lag, not as differences', async () => {
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

it('stores records of any time, however many months their times span', async () => {
  let months = 0;
  const claimed = { now: () => Date.UTC(1800, 60 * (months += 1)) };
  const world = new AuditWorld('other_times', claimed);
  await migrate(world.store);
  await world.log.writer().append(randomEvents(150, seeded(5), ['TurnRecorded']));
  world.log.appendRaw('tasks', [{ key: 'x', value: Buffer.from('bad') }]);
  await world.sink();
  expect(await world.audit()).toMatchObject({ ok: true, deadLetters: 1 });
});
