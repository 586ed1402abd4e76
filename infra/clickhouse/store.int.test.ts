// The store from the point of view of its HTTP clients.
import { request as httpRequest } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { KEY, ask, freshTable, store } from './store.testing.ts';

describe('health and headers', () => {
  it.each(['/ping', '/replicas_status', '/'])('answers Ok. at %s, and without the password only at /ping', async (path) => {
    const response = await fetch(store.url + path, { headers: KEY });
    expect([response.status, await response.text()]).toEqual([200, 'Ok.\n']);
    expect((await fetch(store.url + path)).status).toBe(path === '/ping' ? 200 : 403);
  });

  it('has no other path and no other method', async () => {
    expect((await fetch(`${store.url}/play`, { headers: KEY })).status).toBe(404);
    expect((await fetch(`${store.url}/?query=select+1`, { method: 'PUT', headers: KEY })).status).toBe(405);
  });

  it('sends the response headers of ClickHouse', async () => {
    const { headers, text } = await ask('select 1 as one', { url: { query_id: 'my id', default_format: 'JSONEachRow' } });
    expect(text).toBe('{"one":1}\n');
    expect(headers.get('x-clickhouse-query-id')).toBe('my id');
    expect(headers.get('x-clickhouse-format')).toBe('JSONEachRow');
    expect(headers.get('x-clickhouse-timezone')).toMatch(/\w/);
    expect(headers.get('x-clickhouse-server-display-name')).toMatch(/\w/);
    expect(headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    expect(JSON.parse(headers.get('x-clickhouse-summary')!)).toHaveProperty('written_rows');
  });

  it('reports written rows in the summary', async () => {
    const table = await freshTable('a UInt8');
    const { headers } = await ask(`insert into ${table} format JSONEachRow`, { body: '{"a":1}\n{"a":2}\n' });
    expect(JSON.parse(headers.get('x-clickhouse-summary')!)).toMatchObject({ written_rows: '2' });
  });
});

describe('queries', () => {
  it('takes the text from the URL, the body, or split between the two', async () => {
    expect((await ask('select 1')).text).toBe('1\n');
    expect((await ask(undefined, { body: 'select 2' })).text).toBe('2\n');
    expect((await ask('select', { body: '3' })).text).toBe('3\n');
    expect((await ask("select 'a -- b' -- comment\n", { body: ', 4' })).text).toBe('a -- b\t4\n');
    expect((await ask(undefined, { body: "select 'é日', `x` from (select 5 as `x`) -- end" })).text).toBe('é日\t5\n');
    expect((await ask('(select 1) union all (select 1)')).text).toBe('1\n1\n');
  });

  it('takes the query and its parameters from a form', async () => {
    const form = new FormData();
    form.set('query', 'select {x:String}, {y:UInt8}');
    form.set('param_x', "line\\n' 日");
    form.set('param_y', '7');
    expect((await ask(undefined, { body: form })).text).toBe("line\\n\\' 日\t7\n");
    form.set('external', new Blob(['1']), 'external');
    expect((await ask(undefined, { body: form })).status).toBe(501);
  });

  it('lets a format in the query win over the default', async () => {
    expect((await ask('select 1 as a format JSONEachRow', { url: { default_format: 'CSV' } })).text).toBe('{"a":1}\n');
    expect((await ask('select 1 as a format CSVWithNames settings max_threads = 1')).text).toBe('"a"\n1\n');
    expect((await ask('select 1 as a', { headers: { 'X-ClickHouse-Format': 'CSV' } })).text).toBe('1\n');
  });

  it('uses the database that is asked for, in this request only', async () => {
    await ask('create database if not exists `od``d`');
    expect((await ask('select currentDatabase()', { url: { database: 'od`d' } })).text).toBe('od`d\n');
    expect((await ask('select currentDatabase()', { headers: { 'X-ClickHouse-Database': 'system' } })).text).toBe('system\n');
    expect((await ask('select currentDatabase()')).text).toBe('default\n');
    const absent = await ask('select 1', { url: { database: 'nope' } });
    expect([absent.status, absent.headers.get('x-clickhouse-exception-code')]).toEqual([404, '81']);
  });

  it('knows SHOW, DESCRIBE, EXISTS, EXPLAIN, system.settings and version()', async () => {
    const table = await freshTable('a UInt8');
    expect((await ask('show tables')).text).toContain(table);
    expect((await ask(`describe table ${table}`)).text).toMatch(/^a\tUInt8/);
    expect((await ask(`exists table ${table}`)).text).toBe('1\n');
    expect((await ask('explain select 1')).status).toBe(200);
    expect((await ask("select count() from system.settings where name = 'max_threads'")).text).toBe('1\n');
    expect((await ask('select version()')).text).toMatch(/^\d+\.\d+/);
  });

  it('only reads with GET', async () => {
    expect((await ask('select 1', { method: 'GET' })).text).toBe('1\n');
    const refused = await ask('create table by_get (a UInt8) engine = Memory', { method: 'GET' });
    expect(refused.headers.get('x-clickhouse-exception-code')).toBe('164');
    const tricked = await ask('create table by_get (a UInt8) engine = Memory', { method: 'GET', url: { readonly: '0' } });
    expect(tricked.headers.get('x-clickhouse-exception-code')).toBe('164');
    expect((await ask('select 1', { method: 'GET', url: { max_threads: '1' } })).text).toBe('1\n');
  });

  it('compresses answers only when it is asked to', async () => {
    const sql = 'select number from numbers(1000)';
    const get = (url: Record<string, string>, encoding: string): Promise<{ encoding: string | undefined; bytes: Buffer }> =>
      new Promise((resolve, reject) => {
        const parameters = new URLSearchParams({ query: sql, ...url }).toString();
        httpRequest(`${store.url}/?${parameters}`, { method: 'POST', headers: { ...KEY, 'Accept-Encoding': encoding } }, (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('end', () => {
            resolve({ encoding: response.headers['content-encoding'], bytes: Buffer.concat(parts) });
          });
        })
          .on('error', reject)
          .end();
      });
    const whole = await get({ enable_http_compression: '1', wait_end_of_query: '1' }, 'lz4, gzip;q=0.5');
    expect(whole.encoding).toBe('gzip');
    expect(gunzipSync(whole.bytes).toString()).toMatch(/^0\n1\n[\s\S]*\n999\n$/);
    const blocks = await get({ enable_http_compression: '1' }, 'gzip');
    expect(gunzipSync(blocks.bytes).toString()).toMatch(/^0\n1\n[\s\S]*\n999\n$/);
    expect((await get({ enable_http_compression: '1' }, 'zstd')).encoding).toBeUndefined();
    expect((await get({}, 'gzip')).encoding).toBeUndefined();
  });

  it('refuses a result that is too large for one piece, and streams it in a format that allows that', async () => {
    const sql = "select concat(toString(number), repeat('x', 1000)) from numbers(300000)";
    const refused = await ask(`${sql} format JSON`);
    expect(refused.headers.get('x-clickhouse-exception-code')).toBe('396');
    const streamed = await fetch(`${store.url}/?${new URLSearchParams({ query: sql }).toString()}`, { method: 'POST', headers: KEY });
    let size = 0;
    for await (const part of streamed.body!) size += (part as Uint8Array).length;
    expect(size).toBe(300_000 * 1001 + 1_688_890);
  });
});

describe('parameters and settings', () => {
  it('reads parameters as ClickHouse does: escaped as in TSV', async () => {
    expect((await ask('select hex({x:String})', { url: { param_x: 'a\\tb\\\\' } })).text).toBe('6109625C\n');
    expect((await ask('select {x:Nullable(String)} is null', { url: { param_x: '\\N' } })).text).toBe('1\n');
    expect((await ask('select {x:Array(String)}', { url: { param_x: "['a\\'b','c']" } })).text).toBe("['a\\'b','c']\n");
    const raw = await ask('select {x:String}', { url: { param_x: 'a\tb' } });
    expect(raw.headers.get('x-clickhouse-exception-code')).toBe('457');
    const unset = await ask('select {y:String}', { url: { param_x: 'a' } });
    expect(unset.headers.get('x-clickhouse-exception-code')).toBe('456');
  });

  it('never lets one request see what another one set', async () => {
    const many = Array.from({ length: 60 }, (_, n) =>
      ask("select {x:String}, getSetting('max_block_size'), currentDatabase()", {
        url: { param_x: `v${n}`, max_block_size: String(1000 + n), database: n % 2 === 0 ? 'system' : 'default' },
      }),
    );
    const answers = await Promise.all(many);
    expect(answers.map(({ text }) => text)).toEqual(answers.map((_, n) => `v${n}\t${1000 + n}\t${n % 2 === 0 ? 'system' : 'default'}\n`));
    expect((await ask('select {x:String}')).headers.get('x-clickhouse-exception-code')).toBe('456');
    await ask('select 1', { url: { readonly: '1' } });
    expect((await ask('set max_threads = 7')).status).toBe(200);
    expect((await ask("select getSetting('max_threads') = 7")).text).toBe('0\n');
  });

  it('quotes the values of settings', async () => {
    const hostile = await ask('select 1', { url: { max_threads: "1'; drop table x; --" } });
    expect(hostile.status).toBeGreaterThanOrEqual(400);
    expect((await ask('select 1', { url: { 'max_threads = 1; select': '1' } })).headers.get('x-clickhouse-exception-code')).toBe('115');
    expect((await ask('select 1', { url: { no_such_setting: '1' } })).status).toBe(404);
  });
});
