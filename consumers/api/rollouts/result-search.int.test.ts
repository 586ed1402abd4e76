// Finds the turns whose result contains a text: the same turns before, while, and after the warehouse indexes them.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../../infra/clickhouse/client.ts';
import type { HttpServer } from '../../../infra/http/server.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { storeLog } from '../../../infra/testing/api-story.ts';
import { outgoing, randomEvent, seeded } from '../../../infra/testing/events.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { migratedDatabase, startMigratedStore } from '../../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../../infra/testing/store.ts';
import { ResultTextKeeper } from '../../warehouse/keep-result-texts.ts';

const RUN = 'sought';
const TURNS = 400;
const PAGES = ['The Danube flows through Vienna.', 'Budapest lies on the DANUBE', 'A page about Lisbon, the Tagus', 'Zürich, Genève'];
const random = seeded(2);
const log = new MemoryLog({ partitions: { rollouts: 3 } });
let engine: TestStore;
let store: ClickHouseStore;
let server: HttpServer;

const turnAt = (turn: number) => {
  const result = turn % 5 === 4 ? `unique ${turn} text` : PAGES[turn % PAGES.length]!;
  return outgoing(
    'TurnRecorded',
    randomEvent('TurnRecorded', random, {
      ...{ run_id: RUN, group_id: `g${turn % 7}`, trajectory_id: `t${turn % 40}`, attempt: 0, turn, tool: 'access', result },
      ...{ result_sha256: createHash('sha256').update(result).digest('hex'), result_chars: result.length, purpose: 'train' },
    }),
  );
};

interface SearchedCall {
  readonly trajectory_id: string;
  readonly turn: number;
  readonly result: string;
}

async function search(text: string): Promise<readonly SearchedCall[]> {
  const calls: SearchedCall[] = [];
  for (let cursor = ''; ;) {
    const path = `/v1/runs/${RUN}/tool-calls?limit=37&fields=trajectory_id&fields=turn&fields=result&result=${encodeURIComponent(text)}${cursor}`;
    const answer = await server.app.inject(path);
    expect(answer.statusCode, answer.body).toBe(200);
    const page = answer.json<{ items: SearchedCall[]; next_cursor: string | null }>();
    calls.push(...page.items);
    if (page.next_cursor === null) return calls;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

const texts = ['danube', 'flows through vienna', ' Danube ', 'unique 14', '7', 'zürich', 'nowhere', 'e'];
const expected = (text: string): number =>
  Array.from({ length: TURNS }, (_, turn) => turnAt(turn).event as unknown as SearchedCall).filter(({ result }) =>
    result.toLowerCase().includes(text.toLowerCase()),
  ).length;

beforeAll(async () => {
  engine = await startMigratedStore();
  store = connectStore({ url: engine.url, database: migratedDatabase });
  server = await testApi({ store });
  await log.writer().append(Array.from({ length: TURNS }, (_, turn) => turnAt(turn)));
  await log.writer().append([outgoing('RunStarted', randomEvent('RunStarted', random, { run_id: RUN }))]);
  await storeLog(log, store, 'sought');
});

afterAll(async () => {
  await server.close();
  await store.close();
  await engine.stop();
});

it('a result is found however many turns are indexed', async () => {
  const check = async (): Promise<void> => {
    for (const text of texts) {
      const found = await search(text);
      expect(found, text).toHaveLength(expected(text));
      for (const { result } of found) expect(result.toLowerCase()).toContain(text.toLowerCase());
      expect(new Set(found.map(({ trajectory_id, turn }) => `${trajectory_id}/${turn}`)).size).toBe(found.length);
    }
  };
  await check();
  const keeper = new ResultTextKeeper({ store }, 150);
  expect((await keeper.round()).kept).toBe(0);
  expect((await keeper.round()).kept).toBeGreaterThan(0);
  await check();
  while ((await keeper.round()).kept > 0);
  await check();
  const [kept] = await store.query<{ n: number; distinct: number }>('select count() as n, uniqExact(sha256) as distinct from result_texts');
  expect(kept).toEqual({ n: PAGES.length + TURNS / 5, distinct: PAGES.length + TURNS / 5 });
});
