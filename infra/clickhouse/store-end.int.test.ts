// A store whose engine cannot continue: it answers the client, kills itself, and comes back with everything that was acknowledged.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestStore, type TestStore } from '../testing/store.ts';

/** Overflows the stack of the engine's JSON parser; afterwards the engine answers ABORTED to everything. */
const BOMB = `select length(JSONMergePatch(concat(repeat('{"a":',200000),'1',repeat('}',200000)),'{}'))`;
/** Ignores every limit for more than half a minute. */
const ENDLESS = `select ${Array.from({ length: 12 }, (_, n) => `editDistance(repeat('a', ${64_000 + n}), repeat('b', 64000))`).join(' + ')}`;
/** Settings that the API adds to users' queries. */
const PEOPLE = { wait_end_of_query: '1', max_execution_time: '10' };

let store: TestStore;
beforeEach(async () => {
  store = await startTestStore();
});
afterEach(() => store.stop());

interface TimedResponse {
  readonly code: string | null;
  readonly text: string;
  readonly tookMs: number;
}

async function ask(query: string, settings: Readonly<Record<string, string>> = {}): Promise<TimedResponse> {
  const began = performance.now();
  const response = await fetch(`${store.url}/?${new URLSearchParams(settings).toString()}`, { method: 'POST', body: query });
  const text = await response.text();
  return { code: response.headers.get('x-clickhouse-exception-code'), text, tookMs: performance.now() - began };
}

describe('a statement that makes the engine unusable', () => {
  it('gets an error that says so, ends the store at once, and is refused from then on', async () => {
    await ask('create table t (a UInt8) engine = MergeTree order by a');
    await ask('insert into t values (1)');
    const told = await ask(BOMB, PEOPLE);
    expect(told).toMatchObject({ code: '394', text: expect.stringContaining('the store ends and is started again') as string });
    expect(told.tookMs).toBeLessThan(5_000);
    expect(await store.ended()).toBe('SIGKILL');
    await store.restart();
    expect((await ask('select count() from t')).text).toBe('1\n');
    const again = await ask(BOMB.replace('200000', '190000'), PEOPLE);
    expect(again).toMatchObject({ code: '394', text: expect.stringContaining('refused for') as string });
    expect((await fetch(`${store.url}/ping`)).status).toBe(200);
  });

  it('makes concurrent inserts fail at most in a way after which they can be repeated', async () => {
    await ask('create table t (a UInt32) engine = MergeTree order by a settings non_replicated_deduplication_window = 1000');
    const insert = (n: number): Promise<string | null> =>
      ask(`insert into t values (${n})`, { insert_deduplication_token: `n${n}` }).then(
        ({ code, text }) => (text === '' ? '' : code),
        () => 'cut',
      );
    const bomb = ask(BOMB, PEOPLE);
    const seen = new Set<string | null>();
    let n = 0;
    while (!seen.has('cut')) {
      const said = await insert(n);
      seen.add(said);
      if (said === '') n += 1;
    }
    expect([...seen].filter((said) => !['', 'cut', '236'].includes(said ?? ''))).toEqual([]);
    expect((await bomb).code).toBe('394');
    await store.restart();
    for (let last = n; last < n + 3; last += 1) expect(await insert(last)).toBe('');
    expect((await ask('select count(), uniqExact(a), max(a) from t')).text).toBe(`${n + 3}\t${n + 3}\t${n + 2}\n`);
  });
});

describe('a statement that runs for more than twice its limit', () => {
  it('gets an error that says so and ends the store, while other statements are answered', async () => {
    const stuck = ask(ENDLESS, { ...PEOPLE, max_execution_time: '0.5' });
    expect((await ask('select 1')).text).toBe('1\n');
    expect((await fetch(`${store.url}/ping`)).status).toBe(200);
    const told = await stuck;
    expect(told).toMatchObject({ code: '159', text: expect.stringContaining('outlived twice its limit of 0.5 s') as string });
    expect(told.tookMs).toBeLessThan(10_000);
    expect(await store.ended()).toBe('SIGKILL');
  });
});

describe('a statement that blocks the thread of the store itself', () => {
  it('ends the store', async () => {
    const stuck = ask(ENDLESS, { max_execution_time: '0.5' }).catch(() => 'cut');
    expect(await store.ended()).toBe('SIGKILL');
    expect(await stuck).toBe('cut');
  });
});

describe('a stop', () => {
  it('completes although a statement does not end', async () => {
    const stuck = ask(ENDLESS, { wait_end_of_query: '1' }).catch(() => 'cut');
    while ((await ask('select count() from system.processes')).text !== '2\n');
    const began = performance.now();
    await store.terminate();
    expect(performance.now() - began).toBeLessThan(9_000);
    await stuck;
  });
});
