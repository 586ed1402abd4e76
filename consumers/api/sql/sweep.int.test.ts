import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../../infra/clickhouse/client.ts';
import { sweepNames } from '../../../infra/testing/sql-sweep.ts';
import { migratedDatabase, startMigratedStore } from '../../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../../infra/testing/store.ts';

let engine: TestStore;
let store: ClickHouseStore;

beforeAll(async () => {
  engine = await startMigratedStore();
  store = connectStore({ url: engine.url, database: migratedDatabase });
});

afterAll(async () => {
  await store.close();
  await engine.stop();
});

describe('names of the engine', () => {
  it('are refused wherever they can stand, unless they are on a list', { timeout: 300_000 }, async () => {
    const swept = await sweepNames(store, { dense: true, lanes: 4 });
    expect(swept.flatMap(({ kind, holes }) => holes.map((hole) => `${kind}, ${hole}`))).toEqual([]);
    for (const { kind, statements } of swept) expect(statements, kind).toBeGreaterThan(20);
  });
});
