// Tests both clients against the real API and store: lists, SQL, attached rewards, and the codes of errors.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectStore } from '../clickhouse/client.ts';
import type { HttpServer } from '../http/server.ts';
import { clientPython } from '../testing/client-python.ts';
import { storyRun, tellStory } from '../testing/api-story.ts';
import { testApi } from '../testing/api.ts';
import { MemoryLog } from '../testing/memory-log.ts';
import { migratedDatabase, startMigratedStore } from '../testing/migrated-store.ts';
import { ApiError, Turnstream } from './typescript/index.ts';

const ends: (() => Promise<unknown>)[] = [];
let server: HttpServer;
let url: string;
let log: MemoryLog;

beforeAll(async () => {
  const engine = await startMigratedStore();
  ends.push(() => engine.stop());
  const store = connectStore({ url: engine.url, database: migratedDatabase });
  ends.push(() => store.close());
  log = new MemoryLog();
  await tellStory(log, store);
  server = await testApi({ store, log });
  ends.push(() => server.close());
  ({ url } = await server.listen());
}, 300_000);

afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

it('the TypeScript client reads lists, runs SQL, and rejects with error codes', async () => {
  const ts = new Turnstream({ url });
  const run = ts.run(storyRun);
  expect(await run.summary()).toMatchObject({ run_id: storyRun });
  const all = await run.trajectories().rows();
  const paged = await run.trajectories({ limit: 2 }).rows();
  expect(paged).toEqual(all);
  expect(all.length).toBeGreaterThan(2);
  const counted = await ts
    .sql<{ readonly n: number }>('select count() as n from trajectories where run_id = {run:String}', { run: storyRun })
    .rows();
  expect(Number(counted[0]?.n)).toBe(all.length);
  const error = await ts
    .run('no-such-run')
    .summary()
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ code: 'NOT_FOUND', status: 404 });
});

it('the TypeScript client attaches rewards, which are in the log when the call returns', async () => {
  const run = new Turnstream({ url }).run(storyRun);
  const [first] = await run.trajectories({ limit: 1 }).rows();
  const trajectory_id = first?.trajectory_id ?? '';
  await run.reward({ trajectory_id, value: 0.5, name: 'human', identifier: 'reviewer-7' });
  expect(await run.record([{ type: 'RewardAttached', trajectory_id, value: 1 }])).toEqual({
    recorded: 1,
    event_ids: [`${trajectory_id}/0/-1/reward/`],
  });
  const headers = log.records('rollouts').map((record) => record.headers);
  const added = headers.filter(({ ce_type: type }) => type?.toString().endsWith('.RewardAttached') === true);
  expect(added.map(({ ce_id: id }) => id?.toString()).sort()).toEqual([
    `${trajectory_id}/0/-1/human/reviewer-7`,
    `${trajectory_id}/0/-1/reward/`,
  ]);
  const error = await run.record([{ type: 'TurnRecorded' }]).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'REQUEST_INVALID', status: 400 });
  // no sink runs in this test, so the tables do not have the new events
  expect(await run.rewards(trajectory_id).rows()).toEqual([]);
});

it.skipIf(!existsSync(clientPython))(
  'the Python client passes its tests against the same API',
  async () => {
    const child = spawn(clientPython, ['-m', 'pytest', 'tests/test_contract.py'], {
      cwd: join('infra', 'clients', 'python'),
      env: { ...process.env, TURNSTREAM_CONTRACT_URL: url, TURNSTREAM_CONTRACT_RUN: storyRun },
    });
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (out += part.toString()));
    const code = await new Promise((done) => child.once('close', done));
    expect(code, out).toBe(0);
    expect(out).toMatch(/4 passed/);
  },
  300_000,
);
