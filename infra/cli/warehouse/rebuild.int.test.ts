// Rebuilds the tables from a real log with the actual command.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClickHouseStore } from '../../clickhouse/client.ts';
import type { Config } from '../../config/descriptors.ts';
import { loadConfig } from '../../config/load.ts';
import { useKafka } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { startStoreHere } from '../../testing/store.ts';
import { command } from '../../testing/up.ts';
import { connectLog, connectWarehouse, groupsOf } from '../../app/open/connections.ts';
import { prepareLog, prepareStore } from '../../app/open/prepare.ts';
import { dropTables, rowsBefore } from './rebuild-tables.ts';

describe('turnstream warehouse rebuild', { timeout: 300_000 }, () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  let config: Config;
  let env: Record<string, string>;
  let store: ClickHouseStore;
  let dataDir = '';

  beforeAll(async () => {
    const [kafka, engine] = await Promise.all([useKafka(), startStoreHere()]);
    dataDir = mkdtempSync(join(tmpdir(), 'turnstream-rebuild-'));
    env = {
      KAFKA_BROKERS: kafka.brokers.join(','),
      CLICKHOUSE_URL: engine.url,
      TURNSTREAM_CLICKHOUSE_PASSWORD: 'pass',
      TURNSTREAM_DATA_DIR: dataDir,
      TURNSTREAM_NAMESPACE: kafka.namespace,
      TURNSTREAM_LOG_LEVEL: 'error',
    };
    config = loadConfig(env);
    await prepareLog(config, silentLogger);
    expect(await command(env, 'load', '--run', 'again', '--turns', '300', '--turn-bytes', '400')).toMatchObject({ code: 0 });
    store = connectWarehouse(config);
    cleanups.push(
      () => store.close(),
      () => engine.stop(),
    );
  });
  afterAll(async () => {
    for (const cleanup of cleanups) await cleanup();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const turns = async (): Promise<number> =>
    Number((await store.query<{ n: number }>("select count() as n from turns where run_id = 'again'"))[0]?.n);

  it('fills an empty store, and restores one that lost and gained rows', async () => {
    const first = await command(env, 'warehouse', 'rebuild');
    expect(first).toMatchObject({ code: 0, out: expect.stringMatching(/^OK: \d+ records stored in /) as string });
    const whole = await turns();
    expect(whole).toBeGreaterThanOrEqual(300);
    await store.command('alter table turns delete where turn > 2', { settings: { mutations_sync: 2 } });
    await store.command("insert into trajectories select * replace ('someone' as worker_id) from trajectories limit 3");
    await store.command('drop table steps sync');
    expect((await command(env, 'warehouse', 'rebuild')).out).toMatch(/^OK: /);
    expect(await turns()).toBe(whole);
    expect(await store.query('select count() as n from steps')).toEqual([{ n: 0 }]);
  });

  it('can be run again after it was interrupted', async () => {
    const whole = await turns();
    await dropTables(store);
    // The sink's offsets still say that everything is stored: the tables must not be recreated empty.
    await expect(prepareStore(config)).resolves.toEqual([]);
    await expect(turns()).rejects.toMatchObject({ code: 'STORE_REFUSED' });
    expect((await command(env, 'warehouse', 'rebuild')).out).toMatch(/^OK: /);
    expect(await turns()).toBe(whole);
  });

  it('refuses while a sink runs, and changes nothing', async () => {
    const whole = await turns();
    const log = await connectLog({ config, clientId: 'test', logger: silentLogger });
    const member = log.kafka.group();
    const options = { onBatch: async () => undefined, onError: () => undefined };
    await member.start({ ...options, group: groupsOf(config.namespace).warehouse, topics: ['questions'] });
    const { code, error } = await command(env, 'warehouse', 'rebuild');
    expect(code).toBe(1);
    expect(error).toContain('a sink is running in the group');
    const waiting = command(env, 'warehouse', 'rebuild', '--wait', '120');
    await log.close();
    expect((await waiting).out).toMatch(/^OK: /);
    expect(await turns()).toBe(whole);
  });

  it('does what the guide to backups says', async () => {
    const lines = readFileSync(join('infra', 'docs', 'guides', 'backups.md'), 'utf8').split('\n');
    const commands = lines.filter((line) => line.startsWith('npx turnstream ')).map((line) => line.split(' ').slice(2));
    const all = ['warehouse rebuild', 'warehouse mend', 'warehouse mend --yes', 'audit', 'ledger verify'];
    expect(commands.map((words) => words.join(' '))).toEqual(all);
    for (const words of commands) expect(await command(env, ...words), words.join(' ')).toMatchObject({ code: 0, error: '' });
  });

  it('counts the rows whose records have left the log', async () => {
    const [found] = await store.query<{ partition: number; offset: number }>(
      'select _partition as partition, max(_offset) as offset from turns group by partition order by partition limit 1',
    );
    const { partition = 0, offset = 0 } = found ?? {};
    const rows = await store.query<{ n: number }>('select count() as n from turns where _partition = {partition:Int32}', {
      params: { partition },
    });
    const firsts = [{ topic: 'rollouts', partition, offset: offset + 1 }] as const;
    expect(await rowsBefore(store, 'turns', firsts)).toBe(rows[0]?.n);
    expect(await rowsBefore(store, 'turns', [{ ...firsts[0], offset: 0 }])).toBe(0);
  });
});
