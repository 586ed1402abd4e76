// The real engine fills in the columns that an insert of turns leaves out.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import { emptyTurn } from '../../../schemas/rollouts/turn.ts';
import { connectStore, type ClickHouseStore } from '../../../infra/clickhouse/client.ts';
import { migratedDatabase, startMigratedStore } from '../../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../../infra/testing/store.ts';
import type { LogRecord } from '../../../streams/core/ports.ts';
import { originOf } from './cells.ts';
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

it('gives columns that are left out the values that a row has', async () => {
  const codec = createCodec({ late: ['TurnRecorded'] });
  const value = codec.encode('TurnRecorded', emptyTurn);
  const record = (offset: number): LogRecord => ({
    ...{ topic: 'rollouts', partition: 0, offset, timestampMs: 1_767_225_600_000, key: null, value, headers: {} },
  });
  const read = codec.decode(value);
  if (!read.ok || read.value.type !== 'TurnRecorded' || read.value.plain === undefined) throw new Error('the turn is not plain');
  const columns = turnColumns([{ record: record(0), decoded: read.value, plain: read.value.plain }]);
  const row = turnRow(emptyTurn, originOf(record(1)));
  expect(Object.keys(row).length - columns.size).toBeGreaterThan(30);
  await store.insert('turns', { length: 1, columns: () => columns, rows: () => [] }, 'left-out');
  await store.insert('turns', [row], 'whole');
  const [leftOut, whole] = await store.query('select * except (_offset) from turns order by _offset');
  expect(leftOut).toBeDefined();
  expect(leftOut).toEqual(whole);
});
