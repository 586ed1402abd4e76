// The store from the point of view of its HTTP clients.
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { compressFrameSync } from 'lz4-napi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startStoreHere } from '../testing/store.ts';

let store: Awaited<ReturnType<typeof startStoreHere>>;
beforeAll(async () => {
  store = await startStoreHere();
});
afterAll(() => store.stop());

const KEY = { 'X-ClickHouse-Key': 'pass' };

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly bytes: Buffer;
  readonly headers: Headers;
}

async function ask(
  query: string | undefined,
  options: Omit<RequestInit, 'headers'> & { readonly url?: Record<string, string>; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { url = {}, headers = {}, ...init } = options;
  const parameters = new URLSearchParams({ ...(query === undefined ? {} : { query }), ...url });
  const response = await fetch(`${store.url}/?${parameters.toString()}`, { method: 'POST', headers: { ...KEY, ...headers }, ...init });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, text: bytes.toString(), bytes, headers: response.headers };
}

const freshTable = async (columns: string, settings = ''): Promise<string> => {
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  expect((await ask(`create table ${name} (${columns}) engine = MergeTree order by tuple() ${settings}`)).text).toBe('');
  return name;
};

/** A zstd frame with uncompressed content: enough to test a decoder, without an encoder. */
function zstdStored(data: Buffer): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0]);
  head.writeUInt32LE(data.length, 5);
  const block = Buffer.alloc(3);
  block.writeUIntLE((data.length << 3) | 1, 0, 3);
  return Buffer.concat([head, block, data]);
}

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

  it('says what ClickHouse says about an answer', async () => {
    const { headers, text } = await ask('select 1 as one', { url: { query_id: 'my id', default_format: 'JSONEachRow' } });
    expect(text).toBe('{"one":1}\n');
    expect(headers.get('x-clickhouse-query-id')).toBe('my id');
    expect(headers.get('x-clickhouse-format')).toBe('JSONEachRow');
    expect(headers.get('x-clickhouse-timezone')).toMatch(/\w/);
    expect(headers.get('x-clickhouse-server-display-name')).toMatch(/\w/);
    expect(headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    expect(JSON.parse(headers.get('x-clickhouse-summary')!)).toHaveProperty('written_rows');
  });

  it('tells written rows in the summary', async () => {
    const table = await freshTable('a UInt8');
    const { headers } = await ask(`insert into ${table} format JSONEachRow`, { body: '{"a":1}\n{"a":2}\n' });
    expect(JSON.parse(headers.get('x-clickhouse-summary')!)).toMatchObject({ written_rows: '2' });
  });
});

describe('queries', () => {
  it('takes the text from the URL, the body, or begun in one and ended in the other', async () => {
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

  it('refuses results that are too large to be made in one piece, and streams those that need not', async () => {
    const sql = "select concat(toString(number), repeat('x', 1000)) from numbers(300000)";
    const refused = await ask(`${sql} format JSON`);
    expect(refused.headers.get('x-clickhouse-exception-code')).toBe('396');
    const streamed = await fetch(`${store.url}/?${new URLSearchParams({ query: sql }).toString()}`, { method: 'POST', headers: KEY });
    let size = 0;
    for await (const part of streamed.body!) size += (part as Uint8Array).length;
    expect(size).toBe(300_000 * 1001 + 1_688_890);
  }, 60_000);
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

describe('inserts', () => {
  const rows = '{"a":1,"b":"x\\ny"}\n{"a":2,"b":"é日"}\n';

  it.each([
    ['gzip', (data: Buffer) => gzipSync(data)],
    ['deflate', (data: Buffer) => deflateSync(data)],
    ['br', (data: Buffer) => brotliCompressSync(data)],
    ['lz4', (data: Buffer) => compressFrameSync(data)],
    ['zstd', zstdStored],
  ])('takes rows and queries compressed with %s', async (encoding, compress) => {
    const table = await freshTable('a UInt8, b String');
    const headers = { 'Content-Encoding': encoding };
    const inserted = await ask(`insert into ${table} (a, b) format JSONEachRow`, {
      headers,
      body: new Uint8Array(compress(Buffer.from(rows))),
    });
    expect(inserted.text).toBe('');
    const withText = Buffer.from(`insert into ${table} format JSONEachRow\n${rows}`);
    expect((await ask(undefined, { headers, body: new Uint8Array(compress(withText)) })).text).toBe('');
    const query = compress(Buffer.from(`select a, b, count() from ${table} group by all order by a`));
    expect((await ask(undefined, { headers, body: new Uint8Array(query) })).text).toBe('1\tx\\ny\t2\n2\té日\t2\n');
    const broken = await ask(`insert into ${table} format JSONEachRow`, { headers, body: 'not compressed at all' });
    expect(broken.status).toBeGreaterThanOrEqual(400);
    const brokenText = await ask(undefined, { headers, body: 'not compressed at all' });
    expect(brokenText.headers.get('x-clickhouse-exception-code')).toBe('271');
  });

  it('does not know other encodings', async () => {
    const table = await freshTable('a UInt8');
    expect((await ask(`insert into ${table} format CSV`, { headers: { 'Content-Encoding': 'rot13' }, body: '1\n' })).status).toBe(415);
  });

  it.each([
    'JSONEachRow',
    'JSONCompactEachRow',
    'TabSeparated',
    'CSV',
    'Values',
    'RowBinary',
    'RowBinaryWithNames',
    'Native',
    'Parquet',
    'ArrowStream',
    'Arrow',
  ])('gives back %s as it took it, once for each token', async (format) => {
    const table = await freshTable(
      'a UInt32, b String, c Array(String), d Nullable(Float64)',
      'settings non_replicated_deduplication_window = 100',
    );
    const source =
      "select toUInt32(number) as a, concat('text \\'\\n\\\\ é', toString(number)) as b, [b] as c, if(a % 2 = 0, null, a / 3) as d from numbers(3000)";
    const data = new Uint8Array((await ask(`${source} format ${format}`, { url: { output_format_arrow_string_as_string: '1' } })).bytes);
    for (const token of ['one', 'one', 'two']) {
      const answer = await ask(`insert into ${table} format ${format}`, { url: { insert_deduplication_token: token }, body: data });
      expect(answer.text).toBe('');
    }
    const sum = 'count(), sum(a), sum(cityHash64(a, b, c, d))';
    const [[n, a, hash]] = [(await ask(`select ${sum} from ${table}`)).text.trim().split('\t')] as [string[]];
    const [[, ofA, ofHash]] = [(await ask(`select ${sum} from (${source})`)).text.trim().split('\t')] as [string[]];
    expect([n, a]).toEqual(['6000', String(2 * Number(ofA))]);
    expect(BigInt.asUintN(64, 2n * BigInt(ofHash!)).toString()).toBe(hash);
  });

  it('finds the rows behind the statement in the same text', async () => {
    const table = await freshTable('a UInt8, b String');
    for (const body of [
      `insert into ${table} (a, b) values (1, 'x;y'), (2, 'it''s')`,
      `insert into ${table} format JSONEachRow {"a":3,"b":"; drop table x"}`,
      `INSERT INTO ${table} SETTINGS max_threads = 1 FORMAT CSV\n4,"a;b"\n`,
      `insert into ${table} select 5, ';' -- done`,
    ]) {
      expect((await ask(undefined, { body })).text).toBe('');
    }
    expect((await ask(`insert into ${table} values`, { body: "(6, 'six')" })).text).toBe('');
    expect((await ask(`select groupArray(a) from (select a from ${table} order by a)`)).text).toBe('[1,2,3,4,5,6]\n');
  });

  it('leaves no file behind, whatever happened', async () => {
    const table = await freshTable('a UInt8');
    await ask(`insert into ${table} format CSV`, { body: 'not a number\n' });
    await ask('insert into no_such_table format CSV', { body: '1\n' });
    expect(await readdir(join(store.dataDir, 'store', 'incoming'))).toEqual([]);
  });

  it('tells a full disk as ClickHouse does', async () => {
    const table = await freshTable('a UInt8');
    const full = await ask(`insert into ${table} format CSV`, {
      url: { min_free_disk_bytes_to_perform_insert: '1000000000000000' },
      body: '1\n',
    });
    expect(full.headers.get('x-clickhouse-exception-code')).toBe('243');
  });
});

describe('refusals', () => {
  it.each([
    ['select * from nope', 404, '60'],
    ['select nope()', 404, '46'],
    ['select nope', 404, '47'],
    ['selec 1', 400, '62'],
    ['', 400, '62'],
    ['select 1; select 2', 400, '62'],
    ["select 'a;b' /* ; */; -- ;\n drop table x", 400, '62'],
    ['select 1 format Nope', 404, '73'],
    ["select toUInt8('x')", 400, '6'],
    ['select throwIf(1)', 500, '395'],
    ["select 1 into outfile '/x'", 501, '48'],
    ["insert into x from infile '/x' format CSV", 501, '48'],
    ['select sleep(3) settings max_execution_time = 0.2, function_sleep_max_microseconds_per_block = 0', 408, '159'],
  ])('%s is %i with code %s', async (query, status, code) => {
    const answer = await ask(undefined, { body: query });
    expect([answer.status, answer.headers.get('x-clickhouse-exception-code')]).toEqual([status, code]);
    expect(answer.text).toMatch(new RegExp(`^Code: ${code}\\. DB::Exception: [\\s\\S]* \\([A-Z_]+\\) \\(version [\\d.]+\\)\\n$`));
  });

  it('refuses its own compression of blocks by name', async () => {
    expect((await ask('select 1', { url: { compress: '1' } })).status).toBe(501);
  });

  it('answers no page of another host', async () => {
    expect((await ask('select 1', { headers: { Origin: 'https://example.com' } })).status).toBe(403);
    expect((await ask('select 1', { headers: { Origin: 'http://localhost:3000' } })).status).toBe(403);
    for (const site of ['cross-site', 'same-site'])
      expect((await ask('select 1', { method: 'GET', headers: { 'Sec-Fetch-Site': site } })).status).toBe(403);
    expect((await fetch(`${store.url}/ping`, { headers: { 'Sec-Fetch-Site': 'cross-site' } })).status).toBe(403);
    const own = await ask('select 1', { headers: { Origin: store.url, 'Sec-Fetch-Site': 'same-origin' } });
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([200, null]);
    const status = await new Promise((resolve, reject) => {
      httpRequest(`${store.url}/?query=select+1`, { method: 'POST', headers: { ...KEY, Host: 'rebound.example' } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
  });
});

describe('many at once', () => {
  const endless = 'select count() from numbers(100000000000) where sipHash64(number) = 3 format JSON';

  it('answers, and inserts, while a slow query runs', async () => {
    const table = await freshTable('a UInt8');
    const running = ask(endless, { url: { query_id: 'slow' } });
    await until(async () => (await processes()) > 1);
    for (let time = 0; time < 5; time += 1) {
      expect((await ask('select 1')).text).toBe('1\n');
      expect((await ask(`insert into ${table} format CSV`, { body: `${time}\n` })).text).toBe('');
    }
    expect((await ask(`select count() from ${table}`)).text).toBe('5\n');
    expect(await processes()).toBeGreaterThan(1);
    await ask("kill query where query_id = 'slow' sync");
    expect((await running).headers.get('x-clickhouse-exception-code')).toBe('394');
  });

  it('stops a query whose client went away', async () => {
    const abort = new AbortController();
    const long = ask('select count() from numbers(100000000000) where sipHash64(number) = 1 format JSON', { signal: abort.signal });
    const gone = long.then(
      () => 'answered',
      () => 'gone',
    );
    await until(async () => (await processes()) > 1);
    abort.abort();
    expect(await gone).toBe('gone');
    await until(async () => (await processes()) === 1);
  });

  it('stops a query by the id that its client gave it', async () => {
    const long = ask('select count() from numbers(100000000000) where sipHash64(number) = 2 format JSON', {
      url: { query_id: 'to be killed' },
    });
    await until(async () => (await processes()) > 1);
    await ask("kill query where query_id = 'to be killed' sync");
    expect((await long).headers.get('x-clickhouse-exception-code')).toBe('394');
  });

  const processes = async (): Promise<number> => Number((await ask('select count() from system.processes')).text);
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await condition())) if (Date.now() > end) throw new Error('the condition did not come true in 20 s');
}

describe('users', () => {
  it('need the password, in any of the places where clients put it', async () => {
    const status = async (headers: Record<string, string>, url = ''): Promise<number> =>
      (await fetch(`${store.url}/?query=select+1${url}`, { method: 'POST', headers })).status;
    const basic = (password: string): string => `Basic ${Buffer.from(`default:${password}`).toString('base64')}`;
    expect(await status({})).toBe(403);
    expect(await status({ Authorization: basic('wrong') })).toBe(403);
    expect(await status({ Authorization: basic('pass') })).toBe(200);
    expect(await status({}, '&user=default&password=pass')).toBe(200);
    expect((await fetch(`${store.url}/ping`)).status).toBe(200);
  });
});
