// No statement over the store's port reads or writes a file or a socket, or starts a process: tests known attacks, and every name that the
// running engine knows.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startStoreHere } from '../testing/store.ts';
import { localEngines } from './store/grants.ts';
import { localFunctions } from './store/local-functions.ts';
import { closedTextSettings } from './store/text-settings.ts';

const CANARY = 'canary-7f3a91';
let store: Awaited<ReturnType<typeof startStoreHere>>;
let [folder, port, connections] = ['', 0, 0];
let listener: Server;
beforeAll(async () => {
  store = await startStoreHere();
  folder = mkdtempSync(join(tmpdir(), 'turnstream-test-doors-'));
  writeFileSync(join(folder, 'secret.csv'), `${CANARY}\n`);
  listener = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((done) => listener.listen(0, '127.0.0.1', done));
  const address = listener.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
  await ask('create table t (a String) engine = MergeTree order by a');
});
afterAll(async () => {
  await store.stop();
  listener.close();
  rmSync(folder, { recursive: true, force: true });
});

interface StoreResponse {
  readonly code: number;
  readonly text: string;
}

async function ask(
  query: string,
  options: { readonly method?: string; readonly url?: Readonly<Record<string, string>> } = {},
): Promise<StoreResponse> {
  const { method = 'POST', url = {} } = options;
  const parameters = new URLSearchParams(method === 'GET' ? { query, ...url } : url);
  const response = await fetch(`${store.url}/?${parameters.toString()}`, {
    method,
    headers: { 'X-ClickHouse-Key': 'pass' },
    ...(method === 'GET' ? {} : { body: query }),
  });
  return { code: Number(response.headers.get('x-clickhouse-exception-code') ?? 0), text: await response.text() };
}

const column = async (query: string): Promise<readonly string[]> => (await ask(query)).text.split('\n').filter((line) => line !== '');
/** `$FILE`, `$DIR` and `$URL` stand for a file, its folder and a server that records connections. */
const filled = (statement: string): string =>
  statement.replaceAll('$FILE', join(folder, 'secret.csv')).replaceAll('$DIR', folder).replaceAll('$URL', `http://127.0.0.1:${port}/x`);

async function expectNothingHappened(answers: readonly StoreResponse[]): Promise<void> {
  for (const { text } of answers) expect(text).not.toContain(CANARY);
  expect((await ask('select * from t')).text).not.toContain(CANARY);
  expect(readdirSync(folder)).toEqual(['secret.csv']);
  expect(connections).toBe(0);
}

const HOSTILE = [
  "select * from file('$FILE', 'LineAsString')",
  "select file('$FILE')",
  "select arrayMap(file, ['$FILE'])",
  "select arrayMap(`f\\x69le`, ['$FILE'])",
  'select arrayMap("file", [\'$FILE\'])',
  "select ['$FILE'] as x, arrayMap(/* c */ file /* d */, x)",
  "select 1 // ' \n , file('$FILE') // '",
  "select 1 /* /* */ ' */ , file('$FILE') -- '",
  "select * apply(file) from (select '$FILE' as x)",
  "select * from format(JSONEachRow, 'a UInt8, b String default file(''$FILE'')', '{\"a\":1}')",
  "select * from format /* x */ ('JSONEachRow', concat('a UInt8, b String default fi', 'le(''$FILE'')'), '{\"a\":1}')",
  "select b from values('a UInt8, b String alias file(''$FILE'')', (1))",
  "select b from generateRandom('a UInt8, b String alias file(''$FILE'')') limit 1",
  "select * from eval('select file(\\'$FILE\\')')",
  'select * from `$FILE`',
  "select * from url('$URL', 'LineAsString')",
  "select * from url('file://$FILE', 'LineAsString')",
  "select * from s3('$URL/b/c', 'LineAsString')",
  "select * from remote('127.0.0.1:$PORT', default, t)",
  "select * from executable('id', 'TSV', 'a String')",
  "insert into t select file('$FILE')",
  "insert into t select * from file('$FILE', 'LineAsString')",
  "insert into function file('$DIR/out.csv', 'CSV', 'a String') values ('x')",
  "insert into function file('$DIR/out.csv', 'CSV', 'a String') format CSV\nx",
  "insert into function url('$URL', 'CSV', 'a String') values ('x')",
  "insert into t from infile '$FILE' format CSV",
  "insert into t // ' \n from infile '$FILE' format CSV // '",
  "insert into t values (file('$FILE'))",
  "select 1 into outfile '$DIR/out.csv'",
  "select 1 // ' \n into outfile '$DIR/out.csv' // '",
  "create table x1 (a String) engine = File(CSV, '$DIR/out.csv')",
  "create table x2 (a String) engine = URL('$URL', CSV)",
  "create table x3 as file('$FILE', 'LineAsString')",
  "create table x4 (a String, b String default file('$FILE')) engine = MergeTree order by a",
  "create table x5 (a String) engine = MergeTree order by a settings disk = disk(type = local, path = '$DIR/d/')",
  "create table x6 (a String) engine = MergeTree order by a settings disk = disk(type = web, endpoint = '$URL/')",
  "create view x7 as select file('$FILE')",
  "alter table t add column b String default file('$FILE')",
  "alter table t freeze with name 'x'",
  "create dictionary d (a String) primary key a source(file(path '$FILE' format 'CSV')) layout(flat())",
  "create dictionary d (a String) primary key a source(http(url '$URL' format 'CSV')) layout(flat())",
  'create function f as (x) -> x',
  "create named collection n as url = '$URL'",
  "create database d1 engine = Filesystem('$DIR')",
  "create database d2 engine = MySQL('127.0.0.1:$PORT', 'a', 'b', 'c')",
  "create database d3 engine = Backup('x', S3('$URL/b/', 'k', 's'))",
  "backup table t to File('$DIR/b')",
  "backup table t to S3('$URL/b/', 'k', 's')",
  "restore table t from S3('$URL/b/', 'k', 's')",
  "/* select */ restore table t from S3('$URL/b/', 'k', 's')",
  "// select \n restore table t from S3('$URL/b/', 'k', 's')",
  "select 1 format Template settings format_template_row = '$FILE', format_template_resultset = '$FILE'",
  "select * from t settings additional_table_filters = {'t': 'file(''$FILE'') = a'}",
  "set format_schema = '$FILE'",
  'system shutdown',
  'system reload config',
  'grant all on *.* to default',
  'create user x',
  "attach table x8 from '$DIR/' (a String) engine = MergeTree order by a",
];

describe('a hostile statement', () => {
  it.each(HOSTILE)('%s', async (statement) => {
    const sql = filled(statement).replaceAll('$PORT', String(port));
    const answers = [await ask(sql), await ask(sql, { method: 'GET' })];
    for (const { code, text } of answers) expect(code, text).toBeGreaterThan(0);
    await expectNothingHappened(answers);
  });

  it.each([
    ['select arrayMap({f:Identifier}, [{p:String}])', { param_f: 'file', param_p: '$FILE' }],
    ['select 1 format Template', { format_template_row: '$FILE' }],
    ['select * from t', { additional_result_filter: "file('$FILE') != ''" }],
    ['insert into t format AvroConfluent', { format_avro_schema_registry_url: '$URL' }],
    ["select * from format(JSONEachRow, {s:String}, '{}')", { param_s: "a String default file('$FILE')" }],
  ])('%s with %j', async (sql, url) => {
    const parameters = Object.fromEntries(Object.entries(url).map(([name, value]) => [name, filled(value)]));
    const answer = await ask(sql, { url: parameters });
    expect(answer.code, answer.text).toBeGreaterThan(0);
    await expectNothingHappened([answer]);
  });

  it('is told apart from similar harmless ones', async () => {
    for (const sql of [
      "select format('{} {}', 'a', 'b'), 'file', ' into outfile ', null is null",
      "select 'restore', value as null_value from system.settings where name = 'format_schema' format JSONEachRow",
      'select * from numbers(2) union all select zero from zeros(1) -- file\n',
      "create table if not exists own (a String default 'x', b Nullable(String) default null) engine = MergeTree order by a",
      'create view if not exists own_view as select a from own',
      'alter table own add column if not exists c String',
      "insert into own (a) values ('file(x)')",
      "insert into own select 'a', null, 'b'",
      'create database if not exists own',
      'optimize table own final',
      'describe table own',
      'show create table own',
      'truncate table own',
      'drop table own',
    ]) {
      const { code, text } = await ask(sql);
      expect(code, text).toBe(0);
    }
  });

  it('that writes by GET is refused with the code of ClickHouse', async () => {
    for (const sql of [
      "insert into t values ('x')",
      'create table y (a String) engine = Memory',
      'drop table t',
      'kill query where 1',
      'set max_threads = 1',
    ])
      expect((await ask(sql, { method: 'GET' })).code).toBe(164);
  });
});

describe('every name that the engine knows', () => {
  it('reaches nothing outside as a table function', async () => {
    const names = await column('select name from system.table_functions');
    expect(names.length).toBeGreaterThan(50);
    const answers: StoreResponse[] = [];
    for (const name of names)
      for (const args of [
        "'$URL', 'LineAsString'",
        "'$FILE', 'LineAsString'",
        "'127.0.0.1:$PORT', 'd', 't', 'u', 'p'",
        "'a String default file(''$FILE'')'",
      ])
        answers.push(await ask(filled(`select * from ${name}(${args}) limit 1`).replaceAll('$PORT', String(port))));
    await expectNothingHappened(answers);
  });

  it('reaches nothing outside as an engine of a table or a database', async () => {
    const local = new Set<string>(localEngines);
    const harmless = new Set(['Atomic', 'Memory', 'Ordinary', 'Dictionary']);
    const tables = (await column('select name from system.table_engines')).filter((engine) => !local.has(engine));
    const databases = (await column('select name from system.database_engines')).filter((engine) => !harmless.has(engine));
    const statements = [
      ...tables.flatMap((name) =>
        ['', "('$URL', 'CSV')", "('$DIR/out.csv')", "('127.0.0.1:$PORT', 'd', 't', 'u', 'p')"].map(
          (args) => `create table e_${name} (a String) engine = ${name}${args}`,
        ),
      ),
      ...databases.flatMap((name) =>
        ['', "('$DIR')", "('127.0.0.1:$PORT', 'd', 'u', 'p')"].map((args) => `create database db_${name} engine = ${name}${args}`),
      ),
    ];
    const answers: StoreResponse[] = [];
    const created: string[] = [];
    for (const statement of statements) {
      const answer = await ask(filled(statement).replaceAll('$PORT', String(port)));
      if (answer.code === 0) created.push(statement);
      answers.push(answer);
    }
    expect(created).toEqual([]);
    await expectNothingHappened(answers);
  });

  it('as a function only computes, or is refused wherever it stands', async () => {
    const names = (await column('select name from system.functions')).filter((name) => !localFunctions.has(name.toLowerCase()));
    expect(names).toContain('file');
    for (const name of names)
      for (const sql of [
        `select ${name}('x')`,
        `select arrayMap(${name}, ['x'])`,
        `select ['x'] as a, arrayMap(\`${name}\`, a)`,
        `select "${name}"('x')`,
      ])
        expect([sql, (await ask(sql)).code]).toEqual([sql, 497]);
  });

  it('as a closed text setting cannot be changed', async () => {
    for (const name of closedTextSettings.filter(
      (setting) => setting !== 'http_response_headers' && setting !== 'additional_table_filters',
    ))
      expect([name, (await ask(`set ${name} = 'a'`)).code > 0]).toEqual([name, true]);
  });
});
