// The routes that watch a run, over a real store.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore } from '../../../infra/clickhouse/client.ts';
import { migrate } from '../../../infra/clickhouse/migrate.ts';
import type { HttpServer } from '../../../infra/http/server.ts';
import { storyRun, tellStory } from '../../../infra/testing/api-story.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { longRun, seedLongRun } from '../../../infra/testing/dashboard-world.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { startTestStore, type TestStore } from '../../../infra/testing/store.ts';

let engine: TestStore;
let store: ReturnType<typeof connectStore>;
let server: HttpServer;

beforeAll(async () => {
  engine = await startTestStore();
  store = connectStore({ url: engine.url, database: 'turnstream' });
  await migrate(store);
  await tellStory(new MemoryLog(), store);
  await seedLongRun(store);
  server = await testApi({ store });
}, 300_000);

afterAll(async () => {
  await server.close();
  await store.close();
  await engine.stop();
});

interface Json extends Readonly<Record<string, unknown>> {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly columns: Readonly<Record<string, readonly number[]>>;
  readonly ids: readonly string[];
  readonly fates: readonly string[];
  readonly outages: readonly Readonly<Record<string, unknown>>[];
}
const ask = async (path: string, run = longRun): Promise<Json> => (await server.app.inject(`/v1/runs/${run}/${path}`)).json<Json>();
const statusOf = async (path: string): Promise<number> => (await server.app.inject(path)).statusCode;

describe('the flow', () => {
  it('has the newest attempts in order of their start, and says when it is not whole', async () => {
    const flow = await ask('flow?limit=100');
    const { start_ms: starts } = flow.columns;
    expect([flow['trajectories'], flow['is_whole'], flow['max_staleness']]).toEqual([100, false, 4]);
    expect(starts).toEqual([...(starts ?? [])].sort((a, b) => a - b));
    const whole = await ask('flow?limit=50000');
    expect([whole['trajectories'], whole['is_whole']]).toEqual([9_644, true]);
  });

  it('gives every attempt the fate that the tables of the ledger give it', async () => {
    const flow = await ask('flow?limit=50000');
    const { columns, ids, fates: names } = flow;
    const told = new Map(ids.map((id, at) => [id, names[columns['fate']?.[at] ?? -1]]));
    const ledger = await store.query<{ id: string; fate: string }>(
      `select trajectory_id as id, 'trained' as fate from step_trajectories where run_id = {run:String}
       union all select trajectory_id as id, 'discarded' as fate from discarded_trajectories where run_id = {run:String}
       union all select trajectory_id as id, 'lost' as fate from expired_attempts where run_id = {run:String}`,
      { params: { run: longRun } },
    );
    expect(ledger).toHaveLength(9_640);
    for (const { id, fate } of ledger) expect([id, told.get(id)]).toEqual([id, fate]);
    expect([...told.values()].filter((fate) => fate === 'running')).toHaveLength(4);
  });

  it('leaves evaluations out unless they are asked for', async () => {
    const all = await ask('flow', storyRun);
    const trained = await ask('flow?purpose=train', storyRun);
    expect(all.ids).toEqual(trained.ids);
    expect((await ask('flow?purpose=eval', storyRun)).ids.length).toBeLessThan(all.ids.length);
  });

  it('keeps to its range', async () => {
    const part = await ask('flow?from=2026-11-20T09:00:00Z&to=2026-11-20T09:10:00Z');
    const starts = part.columns['start_ms'] ?? [];
    expect(starts.length).toBeGreaterThan(100);
    expect(Math.min(...starts)).toBeGreaterThanOrEqual(Date.parse('2026-11-20T09:00:00Z'));
    expect(Math.max(...starts)).toBeLessThanOrEqual(Date.parse('2026-11-20T09:10:00Z'));
  });
});

describe('a run that is watched', () => {
  it('has admissions by page, newest first, each once', async () => {
    const first = await ask('admissions?limit=2');
    expect(first.items.map(({ sequence }) => sequence)).toEqual([15_997, 15_993]);
    const second = await ask(`admissions?limit=2&cursor=${String(first['next_cursor'])}`);
    expect(second.items.map(({ sequence }) => sequence)).toEqual([15_989, 15_985]);
  });

  it('says how long a worker took to new weights', async () => {
    const { items } = await ask('syncs?versions=3');
    expect(new Set(items.map(({ version }) => version))).toEqual(new Set([997, 998, 999]));
    for (const { lag_ms } of items) expect(lag_ms).toBeGreaterThanOrEqual(0);
    const earlier = await ask('syncs?versions=2&to_version=100');
    expect(new Set(earlier.items.map(({ version }) => version))).toEqual(new Set([99, 100]));
  });

  it('shows the outage of a tool, its steps, and the advisory on it', async () => {
    const weather = await ask('tools/series?points=100');
    const { outages } = weather;
    expect(outages).toHaveLength(1);
    expect(outages[0]).toMatchObject({ tool: 'search' });
    expect(outages[0]?.['from_step']).toBeGreaterThan(0);
    const { items } = await ask('advisories');
    expect(items.map(({ rule }) => rule)).toContain('tool-outage');
    for (const { sql } of items)
      expect((await server.app.inject({ method: 'POST', url: '/v1/sql', payload: { query: sql } })).statusCode).toBe(200);
  });

  it('finds texts by page in the order of its turns', async () => {
    const one = await ask('find?q=OUAGADOUGOU');
    expect(one.items).toHaveLength(1);
    expect(one.items[0]).toMatchObject({ turn: 29_871 });
    expect(String(one.items[0]?.['head'])).toContain('Ouagadougou');
    const first = await ask('find?q=coastline&limit=3');
    const second = await ask(`find?q=coastline&limit=3&cursor=${String(first['next_cursor'])}`);
    const places = [...first.items, ...second.items].map(({ trajectory_id, turn }) => `${String(trajectory_id)} ${String(turn)}`);
    expect(new Set(places).size).toBe(6);
    expect((await ask('find?q=nothing-holds-this')).items).toEqual([]);
  });

  it('has the answers to a question by version', async () => {
    const history = await ask('questions/q-1');
    const tries = history.items.reduce((sum, item) => sum + Number(item['tries']), 0);
    const [counted] = await store.query<{ tries: number }>(
      "select toInt32(count()) as tries from trajectories where run_id = {run:String} and question_id = 'q-1'",
      { params: { run: longRun } },
    );
    expect([tries, history['is_whole']]).toEqual([counted?.tries, true]);
    expect(await statusOf(`/v1/runs/${longRun}/questions/none`)).toBe(404);
  });

  it('counts its ledger and finds where it leaves another', async () => {
    const ledger = await ask(`ledger?with=${storyRun}`);
    expect(ledger).toMatchObject({ with: storyRun, shared_steps: 3, first_difference: { step: 1 } });
    expect((await ask(`ledger?with=${longRun}`))['first_difference']).toBeNull();
  });

  it('is not found when nobody knows it', async () => {
    for (const path of ['flow', 'admissions', 'syncs', 'tools/series', 'advisories', 'find?q=a', 'ledger'])
      expect([path, await statusOf(`/v1/runs/nobody/${path}`)]).toEqual([path, 404]);
  });
});
