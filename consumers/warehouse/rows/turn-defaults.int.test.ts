// The real engine fills in the columns that an insert of turns leaves out.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { emptyTurn } from '../../../schemas/rollouts/turn.ts';
import { connectStore, type ClickHouseStore } from '../../../infra/clickhouse/client.ts';
import { migratedDatabase, startMigratedStore } from '../../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../../infra/testing/store.ts';
import { originOf } from './cells.ts';
import { plainTurn } from './plain-turn.testing.ts';
import { turnColumns } from './turn-columns.ts';
import { turnRow } from './turn-rows.ts';

let server: TestStore;
let store: ClickHouseStore;

beforeAll(async () => {
  server = await startMigratedStore();
  store = connectStore({ url: server.url, database: migratedDatabase });
});

afterAll(async () => {
  await store.close();
  await server.stop();
});

it('gives columns that are left out the values that the row of an empty turn has', async () => {
  const turn = plainTurn({}, { offset: 0 });
  const columns = turnColumns([turn]);
  const row = turnRow(emptyTurn, { ...originOf(turn.record), _offset: 1 });
  expect(Object.keys(row).length - columns.size).toBeGreaterThan(30);
  await store.insert('turns', { length: 1, columns: () => columns, rows: () => [] }, 'left-out');
  await store.insert('turns', [row], 'whole');
  const [leftOut, whole] = await store.query('select * except (_offset) from turns order by _offset');
  expect(leftOut).toBeDefined();
  expect(leftOut).toEqual(whole);
});
