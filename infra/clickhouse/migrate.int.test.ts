import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestStore, type TestStore } from '../testing/store.ts';
import { connectStore, type ClickHouseStore } from './client.ts';
import { migrate } from './migrate.ts';
import { parseMigration, readMigrations } from './migration-files.ts';

let embedded: TestStore;
let store: ClickHouseStore;
let database = 0;
const connect = (): ClickHouseStore => connectStore({ url: embedded.url, database: `test_migrate_${database}` });

beforeAll(async () => {
  embedded = await startTestStore();
});
afterAll(() => embedded.stop());
beforeEach(() => {
  database += 1;
  store = connect();
});
afterEach(() => store.close());

const first = parseMigration(
  1,
  '0001-first',
  'create table a (x UInt8) engine = MergeTree order by x; create table b (y UInt8) engine = MergeTree order by y;',
);
const second = parseMigration(2, '0002-second', 'alter table a add column z String; alter table a add index by_z z type minmax;');
const names = async (): Promise<unknown[]> => (await store.query<{ name: string }>('show tables')).map(({ name }) => name);

describe('migrations', () => {
  it('creates the database and applies what is new, in order, once', async () => {
    expect((await migrate(store, [first])).map(({ name }) => name)).toEqual(['0001-first']);
    expect(await migrate(store, [first])).toEqual([]);
    expect((await migrate(store, [first, second])).map(({ name }) => name)).toEqual(['0002-second']);
    expect(await names()).toEqual(['a', 'b', 'schema_migrations']);
    expect(await store.query('select number, name, checksum from schema_migrations order by number')).toEqual([
      { number: 1, name: '0001-first', checksum: first.checksum },
      { number: 2, name: '0002-second', checksum: second.checksum },
    ]);
  });

  it('refuses a database to which something else was applied, and changes nothing', async () => {
    await migrate(store, [first]);
    const changed = parseMigration(1, '0001-first', 'create table a (x UInt16) engine = MergeTree order by x');
    await expect(migrate(store, [changed, second])).rejects.toMatchObject({ code: 'MIGRATION_MISMATCH' });
    expect(await names()).toEqual(['a', 'b', 'schema_migrations']);
    const same = parseMigration(1, '0001-first', `-- a new comment\n${first.statements.join(';\n\n')}`);
    expect(await migrate(store, [same])).toEqual([]);
  });

  it('resumes a migration that was interrupted', async () => {
    await store.createDatabase();
    for (const statement of [first.statements[0]!, second.statements[0]!, second.statements[1]!]) await store.command(statement);
    expect((await migrate(store, [first, second])).map(({ name }) => name)).toEqual(['0001-first', '0002-second']);
    expect(await names()).toEqual(['a', 'b', 'schema_migrations']);
  });

  it('does not record a migration that failed', async () => {
    const broken = parseMigration(
      2,
      '0002-broken',
      'create table c (x UInt8) engine = MergeTree order by x; create table d (x Nope) engine = Memory',
    );
    await expect(migrate(store, [first, broken])).rejects.toMatchObject({ code: 'STORE_REFUSED' });
    expect(await store.query('select number from schema_migrations')).toEqual([{ number: 1 }]);
  });

  it('may be run by several processes at once', async () => {
    const stores = Array.from({ length: 4 }, connect);
    await Promise.all(stores.map((each) => migrate(each, [first, second])));
    expect(await store.query('select number, count() as n from schema_migrations group by number order by number')).toEqual([
      { number: 1, n: 1 },
      { number: 2, n: 1 },
    ]);
    await Promise.all(stores.map((each) => each.close()));
  });

  it('keeps the values of columns that change their type, and reads them before they are rewritten', async () => {
    const all = await readMigrations();
    await migrate(
      store,
      all.filter(({ number }) => number < 25),
    );
    const turn = {
      run_id: 'r',
      trajectory_id: 't',
      turn: 1,
      more_tools: ['search', 'access'],
      text: 'a text',
      image_mimes: ['image/png'],
      branch_parent: 0,
    };
    await store.insert('turns', [turn, { ...turn, turn: 2, more_tools: [], branch_parent: -1 }], 'before');
    await migrate(store);
    const read = (): Promise<readonly object[]> =>
      store.query('select turn, text, more_tools, image_mimes, extra_kinds, branch_parent from turns order by turn');
    const rows = [
      { turn: 1, text: 'a text', more_tools: ['search', 'access'], image_mimes: ['image/png'], extra_kinds: [], branch_parent: 0 },
      { turn: 2, text: 'a text', more_tools: [], image_mimes: ['image/png'], extra_kinds: [], branch_parent: -1 },
    ];
    expect(await read()).toEqual(rows);
    await store.command('optimize table turns final');
    expect(await read()).toEqual(rows);
  });

  it('applies the migrations of this version', async () => {
    const all = await readMigrations();
    expect(all.length).toBeGreaterThan(0);
    expect((await migrate(store)).map(({ name }) => name)).toEqual(all.map(({ name }) => name));
    expect(await migrate(store)).toEqual([]);
  });
});
