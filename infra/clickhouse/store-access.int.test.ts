import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { KEY, ask, freshTable, store } from './store.testing.ts';

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await condition())) if (Date.now() > end) throw new Error('the condition did not come true in 20 s');
}

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

  it('refuses the block compression of ClickHouse by name', async () => {
    expect((await ask('select 1', { url: { compress: '1' } })).status).toBe(501);
  });

  it('refuses requests from pages of another origin', async () => {
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
