import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestStore, type TestStore } from '../../testing/store.ts';
import { connectStore, type ClickHouseStore } from '../client.ts';
import { migrate } from '../migrate.ts';
import { parseMigration, readMigrations } from '../migration-files.ts';
import { readColumns } from './apply-comments.ts';
import { byName, byTable } from './column-comments.ts';

describe('comments of columns', () => {
  let engine: TestStore;
  let store: ClickHouseStore;
  beforeAll(async () => {
    engine = await startTestStore();
    store = connectStore({ url: engine.url, database: 'test_comments' });
    await migrate(store);
  });
  afterAll(async () => {
    await store.close();
    await engine.stop();
  });

  it('exist for every column of every table and view', async () => {
    const without = (await readColumns(store)).filter(({ comment }) => comment.trim() === '').map(({ table, name }) => `${table}.${name}`);
    expect(without, 'columns without a comment: add them to infra/clickhouse/comments, or to their migration').toEqual([]);
  });

  it('name only columns that exist', async () => {
    const columns = await readColumns(store);
    const [names, places] = [new Set(columns.map(({ name }) => name)), new Set(columns.map(({ table, name }) => `${table}.${name}`))];
    const unused = [
      ...Object.keys(byName).filter((name) => !names.has(name)),
      ...Object.entries(byTable).flatMap(([table, comments]) =>
        Object.keys(comments).flatMap((name) => (places.has(`${table}.${name}`) ? [] : [`${table}.${name}`])),
      ),
    ];
    expect(unused, 'comments of no column: take them out of infra/clickhouse/comments').toEqual([]);
  });

  it('are set again on a view that was recreated', async () => {
    const before = await readColumns(store);
    await store.command('create or replace view tool_health as select run_id, count() as calls from turns group by run_id');
    expect(
      await store.query(
        `select comment from system.columns where database = currentDatabase() and table = 'tool_health' and name = 'calls'`,
      ),
    ).toEqual([{ comment: '' }]);
    await migrate(store);
    const after = (await readColumns(store)).filter(({ table }) => table === 'tool_health');
    expect(after.map(({ comment }) => comment)).not.toContain('');
    expect(after).toHaveLength(2);
    expect(before.length).toBeGreaterThan(700);
  });

  it('keep what a migration declares, unless its table has an entry here', async () => {
    const other = connectStore({
      url: engine.url,
      database: 'test_comments_other',
    });
    const made = parseMigration(
      1,
      '0001-first',
      "create table steps (run_id String comment 'It\\'s its own', text String comment 'old', tokens Float64) engine = MergeTree order by run_id",
    );
    await migrate(other, [made]);
    await other.command(`alter table steps comment column text 'as an older version said it'`);
    await migrate(other, [made]);
    const found = (await readColumns(other)).filter(({ table }) => table === 'steps').map(({ comment }) => comment);
    expect(found).toEqual(["It's its own", byName['text'], byTable['steps']?.['tokens']]);
    await other.close();
  });

  it('may be set by several processes at once', async () => {
    const migrations = await readMigrations();
    const stores = Array.from({ length: 3 }, () => connectStore({ url: engine.url, database: 'test_comments_many' }));
    await Promise.all(stores.map((each) => migrate(each, migrations)));
    const [first] = stores;
    expect((await readColumns(first!)).filter(({ comment }) => comment === '')).toEqual([]);
    await Promise.all(stores.map((each) => each.close()));
  });
});
