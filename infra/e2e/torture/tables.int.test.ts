// The oracle's checksums on the real engine: rows of every type, and every way in which they can differ from the log.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { project } from '../../../consumers/warehouse/rows/project.ts';
import type { TableName } from '../../../consumers/warehouse/rows/tables.ts';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import type { Row } from '../../../streams/core/ports.ts';
import { connectStore, type ClickHouseStore } from '../../clickhouse/client.ts';
import { randomEvents, seeded } from '../../testing/events.ts';
import { MemoryLog } from '../../testing/memory-log.ts';
import { migratedDatabase, startMigratedStore } from '../../testing/migrated-store.ts';
import type { TestStore } from '../../testing/store.ts';
import { contentOf, type RecordContent } from './contents.ts';
import { judgeTables } from './tables.ts';

const topics = ['questions', 'tasks', 'rollouts', 'training', 'policies', 'evaluations', 'dead-letters'] as const;
let server: TestStore;
let store: ClickHouseStore;
const contents = new Map<EventTopic, readonly RecordContent[]>();

beforeAll(async () => {
  server = await startMigratedStore();
  store = connectStore({ url: server.url, database: migratedDatabase });
  const log = new MemoryLog();
  await log.writer().append(randomEvents(400, seeded(7)));
  const tables = new Map<TableName, Row[]>();
  for (const topic of topics) {
    const own: RecordContent[] = [];
    contents.set(topic, own);
    await log.reader().readToEnd(topic, {
      onBatch: ({ records }) => {
        for (const record of records) {
          const decoded = log.codec.decode(record.value ?? Buffer.alloc(0));
          if (!decoded.ok) throw new Error(decoded.reason);
          own.push(contentOf(record, decoded.value));
          project(record, decoded.value, (table, row) => tables.set(table, [...(tables.get(table) ?? []), row]));
        }
      },
    });
  }
  for (const [table, rows] of tables) await store.insert(table, rows, `${table}-1`);
});

afterAll(async () => {
  await store.close();
  await server.stop();
});

const now = { settings: { mutations_sync: 1 } };
const judged = async () => {
  const { missing, doubled, changed, extra } = await judgeTables(store, contents);
  return { missing, doubled, changed, extra };
};

describe('the log and the tables of the real engine', () => {
  it('are equal, and every kind of difference is found', async () => {
    expect(await judged()).toEqual({ missing: 0, doubled: 0, changed: 0, extra: 0 });
    await store.command('create table kept as turns');
    await store.command('insert into kept select * from turns order by _partition, _offset limit 1');
    await store.command('alter table turns delete where (_partition, _offset) in (select _partition, _offset from kept)', now);
    expect(await judged()).toEqual({ missing: 1, doubled: 0, changed: 0, extra: 0 });
    await store.command("insert into turns select * replace (concat(text, '.') as text) from kept");
    expect(await judged()).toEqual({ missing: 0, doubled: 0, changed: 1, extra: 0 });
    await store.command('insert into turns select * from kept');
    expect(await judged()).toEqual({ missing: 0, doubled: 1, changed: 0, extra: 0 });
    await store.command('insert into turns select * replace (_offset + 1000000 as _offset) from kept');
    expect(await judged()).toEqual({ missing: 0, doubled: 1, changed: 0, extra: 1 });
    await store.command('truncate table step_trajectories');
    expect((await judged()).missing).toBeGreaterThan(0);
  });
});
