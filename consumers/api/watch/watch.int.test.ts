// The routes that watch a run, over a real store.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore } from '../../../infra/clickhouse/client.ts';
import type { HttpServer } from '../../../infra/http/server.ts';
import { storyRun, tellStory } from '../../../infra/testing/api-story.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { evaluationPair, seedEvaluationPair } from '../../../infra/testing/dashboard-figures.ts';
import { longRun, seedLongRun } from '../../../infra/testing/dashboard-world.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { migratedDatabase, startMigratedStore } from '../../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../../infra/testing/store.ts';
import { readAllFindings } from './findings.reader.ts';
import type { MergedFlow } from './flow-merged.reader.ts';

let engine: TestStore;
let store: ReturnType<typeof connectStore>;
let server: HttpServer;

beforeAll(async () => {
  engine = await startMigratedStore();
  store = connectStore({ url: engine.url, database: migratedDatabase });
  await tellStory(new MemoryLog(), store);
  await seedLongRun(store);
  server = await testApi({ store });
}, 300_000);

afterAll(async () => {
  await server.close();
  await store.close();
  await engine.stop();
});

interface WatchAnswer extends Readonly<Record<string, unknown>> {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly columns: Readonly<Record<string, readonly number[]>>;
  readonly ids: readonly string[];
  readonly fates: readonly string[];
  readonly outages: readonly Readonly<Record<string, unknown>>[];
}
const ask = async (path: string, run = longRun): Promise<WatchAnswer> =>
  (await server.app.inject(`/v1/runs/${run}/${path}`)).json<WatchAnswer>();
const statusOf = async (path: string): Promise<number> => (await server.app.inject(path)).statusCode;

describe('the flow', () => {
  it('has the newest attempts in order of their start, and reports when there are more', async () => {
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

  it('has the same number of each fate when merged into any number of spans, and only running attempts in flight at the end', async () => {
    const flow = await ask('flow?limit=50000');
    const fates = flow.fates.map((_, fate) => (flow.columns['fate'] ?? []).filter((one) => one === fate).length);
    const named = Object.fromEntries(flow.fates.map((name, at) => [name, fates[at] ?? 0]));
    for (const points of [2, 60, 600]) {
      const { columns, at_ms, trajectories } = (await ask(`flow/merged?points=${points}`)) as unknown as MergedFlow;
      const total = (name: keyof MergedFlow['columns']): number => columns[name].reduce((sum, one) => sum + one, 0);
      expect(at_ms.length).toBeLessThanOrEqual(points + 1);
      expect([trajectories, total('trained'), total('discarded'), total('lost')]).toEqual([
        ...[flow.ids.length, named['trained'], named['discarded'], named['lost']],
      ]);
      expect(total('open')).toBe((named['open'] ?? 0) + (named['running'] ?? 0));
      expect(columns.running.at(-1)).toBe(named['running']);
      expect(Math.max(...columns.staleness_max)).toBe(3);
      expect(Math.min(...columns.running)).toBeGreaterThanOrEqual(0);
    }
  });

  it('has only attempts that started in the requested range', async () => {
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

  it('reports how long a worker took to use new weights', async () => {
    const { items } = await ask('syncs?versions=3');
    expect(new Set(items.map(({ version }) => version))).toEqual(new Set([997, 998, 999]));
    for (const { lag_ms } of items) expect(lag_ms).toBeGreaterThanOrEqual(0);
    const earlier = await ask('syncs?versions=2&to_version=100');
    expect(new Set(earlier.items.map(({ version }) => version))).toEqual(new Set([99, 100]));
  });

  it('has its outages, its newest admission, and its worst sample beside the advisories', async () => {
    const { outages, state, behind } = (await ask('advisories')) as unknown as {
      outages: unknown;
      state: Record<string, unknown>;
      behind: number;
    };
    expect(outages).toEqual((await ask('tools/series?points=240')).outages);
    expect(outages).not.toEqual([]);
    expect([behind, state['max_concurrent'], state['worst_step'], state['continued']]).toEqual([0, 48, 1_000, 0]);
    const [worst] = await store.query<{ reward: number }>(
      `select min(reward) as reward from step_trajectories where run_id = '${longRun}' and step = 1000`,
    );
    expect(state['worst_reward']).toBe(worst?.reward);
    const none = (await ask('advisories', storyRun)) as unknown as { state: Record<string, unknown> };
    expect(none.state['admitted_at']).toBeNull();
  });

  it('shows the outage of a tool, its steps, and the advisory on it', async () => {
    const weather = await ask('tools/series?points=100');
    const { outages } = weather;
    expect(outages).toHaveLength(1);
    expect(outages[0]).toMatchObject({ tool: 'search' });
    expect(outages[0]?.['from_step']).toBeGreaterThan(0);
    for (const points of [2, 2_000]) expect((await ask(`tools/series?points=${points}`)).outages).toEqual(outages);
    const [from, to] = ['2026-11-20T09:50:00Z', '2026-11-20T10:00:00Z'];
    expect((await ask(`tools/series?from=${from}&to=${to}`)).outages).toEqual(outages);
    expect((await ask('tools/series?to=2026-11-20T09:00:00Z')).outages).toEqual([]);
    const { items } = await ask('advisories');
    expect(items.map(({ rule }) => rule)).toContain('tool-outage');
    const evidence = async (query: unknown) => server.app.inject({ method: 'POST', url: '/v1/sql', payload: { query } });
    for (const { sql } of items) expect((await evidence(sql)).statusCode).toBe(200);
    const outage = items.find(({ rule }) => rule === 'tool-outage');
    const { data } = (await evidence(outage?.['sql'])).json<{ data: readonly { readonly calls: number }[] }>();
    const same = (await ask('advisories')).outages.find(({ to }) => String(outage?.['detail']).includes(String(to)));
    expect(data.reduce((sum, { calls }) => sum + calls, 0)).toBe(same?.['failed']);
  });

  it('has its newest steps compared with its best and its first ones, and counts as running after it was continued', async () => {
    const start = "toDateTime64('2026-11-20 08:00:00', 6, 'UTC')";
    const at = `${start} + toIntervalSecond(number)`;
    const place = `'turnstream.training' as _topic, 7 as _partition, number as _offset, ${start} as _timestamp`;
    const add = (table: string, names: string, rows: string): Promise<void> =>
      store.command(`insert into ${table} (run_id, ${names}, _topic, _partition, _offset, _timestamp) select 'went-on', ${rows}`);
    const events = "['started', 'finished', 'continued'][number + 1], [0, 3001, 3002][number + 1]";
    await add('run_events', 'event, sequence, at', `${events}, ${at}, ${place} from numbers(3)`);
    const steps = `number + 1, number + 1, ${at}, if(number between 120 and 139, 0.9, 0.1), if(number < 20, 1, 0.01), 1, 1`;
    await add('steps', 'step, sequence, at, reward_mean, entropy, wait_ms, train_ms', `${steps}, ${place} from numbers(3000)`);
    await add('heartbeats', 'worker_id, running, occurred_at', `'only~a', 3, ${at}, ${place} from numbers(1)`);
    await add('heartbeats', 'worker_id, addressee, running, occurred_at', `'own', 'eval-9', 3, ${at}, ${place} from numbers(1)`);
    const { items, state } = (await ask('advisories', 'went-on')) as WatchAnswer & { readonly state: Readonly<Record<string, unknown>> };
    expect(items.map(({ rule }) => rule)).toEqual(['reward-collapse', 'entropy-collapse', 'silent-worker']);
    expect(items[2]?.['title']).toBe('The worker only~a is silent');
    expect(items[0]?.['detail']).toContain('steps 2981 to 3000 is 0.1; that of steps 121 to 140 was 0.9');
    expect(items[1]?.['detail']).toContain('of the 1 in steps 1 to 20');
    expect(state).toMatchObject({ trainer: 'silent', ledger_entry: 'RunContinued', continued: 1 });
    const lagging = await testApi({ store, countBehind: () => Promise.resolve(25_000) });
    const behind = (await lagging.app.inject('/v1/runs/went-on/advisories')).json<WatchAnswer & { readonly state: object }>();
    await lagging.close();
    expect(behind.items.map(({ rule }) => rule)).toEqual(['reward-collapse', 'entropy-collapse', 'consumer-lag']);
    expect(behind.state).toMatchObject({ trainer: '' });
  });

  it('reports that the tables lag behind the log, and everything else while the log is unavailable', async () => {
    const ways = [() => Promise.resolve(25_000), () => Promise.reject(new Error('no broker'))];
    const [lagging, unknown] = await Promise.all(
      ways.map(async (countBehind) => {
        const api = await testApi({ store, countBehind });
        const { items } = (await api.app.inject(`/v1/runs/${longRun}/advisories`)).json<WatchAnswer>();
        await api.close();
        return items.map(({ rule }) => rule);
      }),
    );
    expect(lagging).toContain('consumer-lag');
    expect(unknown).toContain('tool-outage');
    expect(unknown).not.toContain('consumer-lag');
  });

  it('is included in the check of all unfinished runs only while it has recent events or heartbeats', async () => {
    const found = async () => (await readAllFindings(store, () => Promise.resolve(25_000))).map(({ run_id }) => run_id);
    const told = await found();
    const worked = `insert into trajectories (run_id, trajectory_id, attempt, purpose, status, finished_at, occurred_at, _topic, _partition, _offset, _timestamp)
      select {run:String}, 'late', 0, 'train', 'answered', now64(6), now64(6), 'turnstream.rollouts', 9, 900000, now64(3)`;
    const beat = `insert into heartbeats (run_id, worker_id, capacity, running, policy_version, occurred_at, _topic, _partition, _offset, _timestamp)
      select {run:String}, 'late', 8, 1, 9, now64(6), 'turnstream.rollouts', 1, 900000, now64(3)`;
    expect(told).not.toContain(longRun);
    await store.command(beat, { params: { run: longRun } });
    expect((await found()).sort()).toEqual([...told, longRun].sort());
    await store.command("alter table heartbeats delete where worker_id = 'late' settings mutations_sync = 1");
    await store.command(worked, { params: { run: longRun } });
    expect((await found()).sort()).toEqual([...told, longRun].sort());
    await store.command("alter table trajectories delete where trajectory_id = 'late' settings mutations_sync = 1");
    expect((await found()).sort()).toEqual([...told].sort());
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

  it('counts its ledger entries, and finds the first step that differs from another run', async () => {
    const ledger = await ask(`ledger?with=${storyRun}`);
    expect(ledger).toMatchObject({ with: storyRun, shared_steps: 3, first_difference: { step: 1 } });
    expect((await ask(`ledger?with=${longRun}`))['first_difference']).toBeNull();
  });

  it('is not found when it does not exist', async () => {
    for (const path of ['flow', 'admissions', 'syncs', 'tools/series', 'advisories', 'find?q=a', 'ledger'])
      expect([path, await statusOf(`/v1/runs/nobody/${path}`)]).toEqual([path, 404]);
  });
});

describe('a filtered list of trajectories', () => {
  const filter = 'min_reward=0.5&order=asc';
  const list = async (): Promise<readonly string[]> =>
    (await ask(`trajectories?${filter}&limit=500&fields=trajectory_id,attempt`)).items.map((item) => String(item['trajectory_id']));
  const beside = async (id: string) => {
    const { previous, next } = (await server.app.inject(`/v1/runs/${longRun}/trajectories/${id}/neighbors?${filter}`)).json<
      Readonly<Record<'previous' | 'next', { readonly trajectory_id: string } | null>>
    >();
    return [previous?.trajectory_id, next?.trajectory_id];
  };

  it('returns the previous and the next of each of its 500 trajectories, also while others finish', async () => {
    const ids = await list();
    expect(ids).toHaveLength(500);
    const found = new Map<string, readonly (string | undefined)[]>();
    for (let at = 0; at < ids.length; at += 50) {
      const part = ids.slice(at, at + 50);
      for (const [place, neighbors] of (await Promise.all(part.map(beside))).entries()) found.set(part[place] ?? '', neighbors);
      await store.command(
        `insert into trajectories (run_id, trajectory_id, attempt, purpose, status, reward, finished_at, occurred_at, _topic, _partition, _offset, _timestamp)
         select {run:String}, {id:String}, 0, 'train', 'answered', 0.9, now64(6), now64(6), 'turnstream.rollouts', 9, {at:Int64}, now64(3)`,
        { params: { run: longRun, id: `late-${at}`, at } },
      );
    }
    for (const [at, id] of ids.slice(0, -1).entries()) expect([id, found.get(id)]).toEqual([id, [ids[at - 1], ids[at + 1]]]);
    await store.command("alter table trajectories delete where trajectory_id like 'late-%' settings mutations_sync = 1");
  }, 300_000);

  it('has no neighbors for an attempt that has not finished', async () => {
    expect(await beside(`${longRun}-x41.0`)).toEqual([undefined, undefined]);
  });
});

describe('distributions', () => {
  const countsOf = (item: Readonly<Record<string, unknown>>): Readonly<Record<string, number>> => {
    const fates = item['fates'] as readonly { readonly reason: string; readonly counts: readonly number[] }[];
    return Object.fromEntries(fates.map(({ reason, counts }) => [reason, counts.reduce((sum, count) => sum + count, 0)]));
  };

  it('have the same counts by fate as the tables of the ledger', async () => {
    const rows = await store.query<{ reason: string; number: number }>(
      `select toString(reason) as reason, toUInt32(count()) as number from outcomes where run_id = {run:String} and step between 101 and 300
       group by reason order by reason`,
      { params: { run: longRun } },
    );
    const counted = Object.fromEntries(rows.map(({ reason, number }) => [reason, number]));
    expect(Object.keys(counted)).toEqual(['', 'stale', 'uniform_group']);
    const { items } = await ask('outcomes/histogram?from_step=101&to_step=300');
    expect(items.map(({ figure }) => figure)).toEqual(['reward', 'advantage', 'turns', 'tokens', 'staleness']);
    for (const item of items) expect(countsOf(item)).toEqual(item['figure'] === 'advantage' ? { '': counted[''] } : counted);
  });

  it('are empty for a range without steps', async () => {
    expect((await ask('outcomes/histogram?from_step=900000')).items).toEqual([]);
    expect(await statusOf('/v1/runs/nobody/outcomes/histogram')).toBe(404);
  });
});

describe('two evaluations', () => {
  interface Compared extends Readonly<Record<string, unknown>> {
    readonly figures: readonly Readonly<Record<string, number | string>>[];
  }
  const compare = async (a: string, b: string): Promise<Compared> =>
    (await server.app.inject(`/v1/evaluations/${a}/compare?with=${b}`)).json<Compared>();

  it('differ by more than chance when one is better, and an evaluation does not differ from itself', async () => {
    await seedEvaluationPair(store);
    const [better, worse] = evaluationPair;
    const more = await compare(worse, better);
    expect(more).toMatchObject({ a: worse, b: better, paired_by: 'content', questions: 100, only_a: 0, only_b: 0 });
    const f1 = more.figures.find(({ name }) => name === 'avg_f1');
    expect(f1).toMatchObject({ a: 0.4, b: 0.8 });
    expect([Number(f1?.['low']) > 0.3, Number(f1?.['high']) < 0.5]).toEqual([true, true]);
    const same = await compare(better, better);
    expect(same.figures.find(({ name }) => name === 'avg_f1')).toMatchObject({ difference: 0, low: 0, high: 0, greater: 0.5 });
  });

  it('are refused when they share no question, and not found when one does not exist', async () => {
    expect(await statusOf('/v1/evaluations/better/compare?with=eval-1')).toBe(422);
    expect(await statusOf('/v1/evaluations/better/compare?with=none')).toBe(404);
  });
});
