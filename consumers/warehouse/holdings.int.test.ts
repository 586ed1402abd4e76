// With the real engine: what the tables report, and that no insert outlives `endInserts`.
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../infra/clickhouse/client.ts';
import { migrate } from '../../infra/clickhouse/migrate.ts';
import { holdingsContract } from '../../infra/testing/holdings.contract.ts';
import { startTestStore, type TestStore } from '../../infra/testing/store.ts';
import { createHoldings } from './holdings.ts';

let server: TestStore;
const stores: ClickHouseStore[] = [];

async function connect(database: string): Promise<ClickHouseStore> {
  const store = connectStore({ url: server.url, database });
  stores.push(store);
  await migrate(store);
  return store;
}

beforeAll(async () => {
  server = await startTestStore();
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await server.stop();
});

holdingsContract('over the embedded store', async () => {
  const store = await connect('test_holdings');
  return { store, holdings: createHoldings(store) };
});

/** An insert whose sender stops after its first row, once the server has received it. `goOn` sends the rest; `answer` is the status. */
async function halfInsert(id: string, database: string): Promise<{ readonly goOn: () => void; readonly answer: Promise<number> }> {
  const query = encodeURIComponent('insert into heartbeats (worker_id, _topic, _partition, _offset) format JSONEachRow');
  const line = (offset: number): string => `${JSON.stringify({ worker_id: id, _topic: 'rollouts', _partition: 3, _offset: offset })}\n`;
  const sent = request(`${server.url}/?database=${database}&query_id=${id}&query=${query}`, { method: 'POST' });
  const answer = new Promise<number>((resolve) => {
    sent.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', () => {
      resolve(0);
    });
  });
  await new Promise((resolve) => sent.write(line(1), resolve));
  expect((await fetch(`${server.url}/ping`)).status).toBe(200);
  return { goOn: () => void sent.end(line(2)), answer };
}

describe('ending inserts', () => {
  it('ends an insert whose sender was frozen halfway, but no insert of other partitions or tables', async () => {
    const database = 'test_settling';
    const store = await connect(database);
    const holdings = createHoldings(store);
    const frozen = await halfInsert(holdings.idOf('heartbeats', [1, 3]), database);
    const others = [
      await halfInsert(holdings.idOf('heartbeats', [1, 33]), database),
      await halfInsert(holdings.idOf('turns', [3]), database),
    ];
    await holdings.endInserts(['heartbeats', 'tasks'], [3, 7]);
    expect(await holdings.held('heartbeats', 'rollouts', [{ partition: 3, min: 0, max: 9 }])).toEqual(new Map());
    for (const one of [frozen, ...others]) one.goOn();
    expect(await frozen.answer).not.toBe(200);
    expect(await Promise.all(others.map(({ answer }) => answer))).toEqual([200, 200]);
    expect(await holdings.held('heartbeats', 'rollouts', [{ partition: 3, min: 0, max: 9 }])).toEqual(new Map([['3/1', 2], ['3/2', 2]])); // prettier-ignore
  });

  it('leaves other statements alone', async () => {
    const store = await connect('test_settling');
    const slow = store.query<{ n: number }>(
      'select count() as n from numbers(20) where sleepEachRow(0.05) = 0 settings max_block_size = 1',
    );
    await createHoldings(store).endInserts(['heartbeats'], [0]);
    expect(await slow).toEqual([{ n: 20 }]);
  });
});
