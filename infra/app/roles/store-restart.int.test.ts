// The store under the supervisor: after its engine dies, it is back within 10 s, and concurrent inserts lose and duplicate nothing.
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../clickhouse/client.ts';
import { readStorePassword } from '../../clickhouse/store/password.ts';
import { isPlatformError } from '../../../streams/core/errors.ts';
import { cleanEnv, program } from '../../testing/up.ts';
import { freePort, pings } from '../open/local-ports.ts';
import { storeService } from '../fleet/local-services.ts';
import { roleService } from '../fleet/role-services.ts';
import { createSupervisor, type Supervised } from '../fleet/supervisor.ts';

const BOMB = `select length(JSONMergePatch(concat(repeat('{"a":',200000),'1',repeat('}',200000)),'{}'))`;

describe('a store under the supervisor', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnstream-restart-'));
  const supervisor = createSupervisor({ stopMs: 15_000, onEvent: () => undefined });
  let supervised: Supervised;
  let [url, store]: [string, ClickHouseStore | undefined] = ['', undefined];
  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const service = roleService({
      ...{ name: 'store', tier: 1, program, args: ['store'], onSuccess: 'restart', log: openSync(join(dataDir, 'log'), 'a') },
      env: () => cleanEnv({ TURNSTREAM_DATA_DIR: dataDir, TURNSTREAM_STORE_PORT: String(port), UV_THREADPOOL_SIZE: '8' }),
      onStatus: () => undefined,
      onMetrics: () => undefined,
    });
    const launch = { start: () => service.start(), failure: () => service.failure() };
    supervised = supervisor.add(storeService({ url, ...launch }));
    await supervised.started;
    store = connectStore({ url, database: 'test_restart', password: readStorePassword(dataDir) ?? '' });
    await store.createDatabase();
    await store.command('create table t (n UInt32) engine = MergeTree order by n settings non_replicated_deduplication_window = 10000');
  });
  afterAll(async () => {
    await store?.close();
    await supervisor.stopAll();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('is back within 10 s, has reported the failure to its client, and has every row once', async () => {
    let [stop, next] = [false, 0];
    const seen = new Set<string>();
    const sink = (async () => {
      while (!stop) {
        await store!.insert('t', [{ n: next }], `n${next}`).then(
          () => (next += 1),
          (error: unknown) => seen.add(isPlatformError(error) ? error.code : 'other'),
        );
        await new Promise((wake) => setTimeout(wake, 5));
      }
    })();
    await expect.poll(() => next).toBeGreaterThan(20);
    const told = await store!.query(BOMB, { settings: { max_execution_time: 10 } }).catch((error: unknown) => error);
    const began = performance.now();
    expect(told).toMatchObject({ code: 'STORE_REFUSED', context: { clickhouseCode: 394 } });
    await expect.poll(() => supervised.restarts()).toBe(1);
    await expect.poll(() => pings(url)).toBe(true);
    expect(performance.now() - began).toBeLessThan(10_000);
    const before = next;
    await expect.poll(() => next).toBeGreaterThan(before + 20);
    stop = true;
    await sink;
    expect([...seen]).toEqual(['STORE_UNAVAILABLE']);
    const [row] = await store!.query<{ rows: number; different: number }>('select count() as rows, uniqExact(n) as different from t');
    expect(row).toEqual({ rows: next, different: next });
  });
});
