// The store as a process: killed, restarted, started twice.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestStore, type TestStore } from '../testing/store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startTestStore();
});
afterAll(() => store.stop());

const ask = async (query: string): Promise<{ readonly text: string }> => {
  const response = await fetch(`${store.url}/?${new URLSearchParams({ query }).toString()}`, { method: 'POST' });
  return { text: await response.text() };
};

describe('the process', () => {
  it('has each row once if it is killed during an insert that is then repeated with its token', async () => {
    const own = await startTestStore();
    try {
      const post = (query: string, body = ''): Promise<string> =>
        fetch(`${own.url}/?${new URLSearchParams({ query }).toString()}`, { method: 'POST', body }).then((response) => response.text());
      expect(
        await post(
          'create table t (a UInt32, text String) engine = MergeTree partition by a % 4 order by a settings non_replicated_deduplication_window = 100',
        ),
      ).toBe('');
      const body = (from: number): string =>
        Array.from({ length: 20_000 }, (_, n) =>
          JSON.stringify({ a: from + n, text: createHash('sha256').update(String(n)).digest('hex').repeat(5) }),
        ).join('\n');
      const incoming = join(own.dataDir, 'store', 'incoming');
      /** Bytes of the insert that the store has received and not inserted yet. */
      const received = async (): Promise<number> => {
        const sizes = (await readdir(incoming)).map((name) =>
          stat(join(incoming, name)).then(
            ({ size }) => size,
            () => 0,
          ),
        );
        return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
      };
      const batches = Array.from({ length: 6 }, (_, n) => body(n * 20_000));
      const insert = (n: number): Promise<string> =>
        post(`insert into t settings insert_deduplication_token = 'batch ${n}' format JSONEachRow`, batches[n]);
      for (let n = 0; n < batches.length; n += 1) {
        let isOver = false;
        const cut = insert(n)
          .catch(() => 'cut')
          .finally(() => (isOver = true));
        // the first is killed at its first byte, the last while the engine inserts it
        const bytes = Math.max(1, ((batches[n]?.length ?? 0) * n) / (batches.length - 1));
        await expect.poll(async () => isOver || (await received()) >= bytes, { timeout: 20_000, interval: 1 }).toBe(true);
        await own.kill();
        await cut;
        await own.restart();
        expect(await insert(n)).toBe('');
      }
      expect(await post('select count(), uniqExact(a), min(a), max(a) from t')).toBe('120000\t120000\t0\t119999\n');
      expect(await readdir(incoming)).toEqual([]);
    } finally {
      await own.stop();
    }
  });

  it('takes the same port again, and records it in a file', async () => {
    const port = store.port;
    expect(Number(await readFile(join(store.dataDir, 'store', 'port'), 'utf8'))).toBe(port);
    await store.restart();
    expect(store.port).toBe(port);
    expect((await ask('select 1')).text).toBe('1\n');
  });

  it('ends with 2 and one message when another store has the directory', async () => {
    await expect(startTestStore({ dataDir: store.dataDir })).rejects.toThrow(
      new RegExp(
        `ended with 2: [\\s\\S]*opening the store in .*: process ${store.pid} has it open\\. Stop the other store or choose another`,
      ),
    );
    expect((await ask('select 1')).text).toBe('1\n');
  });

  it('works in a folder whose name has quotes and patterns', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'turnstream-test-'));
    const odd = await startTestStore({ dataDir: join(parent, "it's {a,b} [x] *?") });
    try {
      const post = (query: string, body: string): Promise<string> =>
        fetch(`${odd.url}/?${new URLSearchParams({ query }).toString()}`, { method: 'POST', body }).then((response) => response.text());
      await post('create table t (a UInt8) engine = MergeTree order by a', '');
      expect(await post('insert into t format CSV', '1\n2\n')).toBe('');
      expect(await post('select sum(a) from t', '')).toBe('3\n');
    } finally {
      await odd.stop();
      await rm(parent, { recursive: true, force: true });
    }
  });

  it('ends at once although clients keep connections open', async () => {
    const own = await startTestStore();
    const socket = connect(own.port, '127.0.0.1');
    await once(socket, 'connect');
    await (await fetch(`${own.url}/ping`)).text();
    const start = Date.now();
    const closed = once(socket, 'close');
    await own.stop();
    await closed;
    expect(Date.now() - start).toBeLessThan(4_000);
  });

  it('ends with 2 when its port is taken', async () => {
    await expect(startTestStore({ port: store.port })).rejects.toThrow(/ended with 2: [\s\S]*port \d+ cannot be used/);
  });
});
