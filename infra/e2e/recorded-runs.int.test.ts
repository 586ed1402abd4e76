// Runs that no trainer of turnstream made: external trajectories, and those of a synthetic load. They appear wherever runs appear.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { charts } from '../cli/plot/charts.ts';
import { readRecordedCurves } from '../../consumers/curves/recorded-curves.ts';
import { renderChart } from '../cli/plot/svg.ts';
import { createLoad } from '../../producers/load/load.ts';
import { defaultShape } from '../../producers/load/shape.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { listRuns, summaryOf } from '../cli/status/run-summary.ts';
import { renderRuns, renderSummary } from '../cli/status/summary-view.ts';
import type { HttpServer } from '../http/server.ts';
import { testApi } from '../testing/api.ts';
import { storyEvents, storyRun } from '../testing/api-story.ts';
import { outgoing } from '../testing/events.ts';
import { finished, started, turn } from '../testing/rollout-events.ts';
import { migratedDatabase, startMigratedStore } from '../testing/migrated-store.ts';
import type { TestStore } from '../testing/store.ts';
import { newToldWorld, type ToldWorld } from '../testing/told-world.ts';
import { guideQuestions, paramsOf, routeOf } from './guides.ts';
import type { JsonObject } from '../testing/json.ts';

let engine: TestStore;
let world: ToldWorld;
let api: HttpServer;
const [loaded, agent, torn] = ['synthetic-load', 'external-agent', 'only-turns'];
const unknown = [{ version: -1, tokens: 10 }];

function loadEvents(): readonly OutgoingEvent[] {
  const shape = { ...defaultShape, faults: 0.3, versionMs: 2_000, turnBytes: 400 };
  const options = { runId: loaded, purpose: 'external', seed: 2, producer: 'load/1', startMs: 1_700_000_000_000, shape } as const;
  const load = createLoad({ ...options, trajectories: 24, turns: Infinity, open: 2, places: 4 });
  const events: OutgoingEvent[] = [];
  for (let event = load.next(); event !== undefined; event = load.next()) events.push(event);
  return events;
}

/** As in the README's example for external writers: no task, no versions. */
const agentEvents = Array.from({ length: 10 }, (_, number) => {
  const place = { trajectory: `mine-${number}.0`, run: agent };
  const external = { purpose: 'external', worker_id: 'mine' };
  const versions = { version_first: -1, version_last: -1, finished_at: 1_700_000_000_000_000 + number };
  return [
    outgoing('TrajectoryStarted', started({ ...place, sequence: 0 }, external)),
    outgoing('TurnRecorded', turn({ ...place, sequence: 1 }, 0, { ...external, policy_spans: unknown, decision: null })),
    outgoing('TrajectoryFinished', finished({ ...place, sequence: 2 }, number % 2, { ...external, ...versions })),
  ];
}).flat();

beforeAll(async () => {
  engine = await startMigratedStore();
  world = await newToldWorld(engine.url, migratedDatabase);
  const some = outgoing('TurnRecorded', turn({ trajectory: 't.0', run: torn, sequence: 1 }, 0, { purpose: 'external' }));
  await world.tell([...storyEvents(), ...loadEvents(), ...agentEvents, some]);
  api = await testApi({ store: world.store, log: world.log });
});

afterAll(async () => {
  await api.close();
  await world.store.close();
  await engine.stop();
});

const statusOf = async (url: string): Promise<number> => (await api.app.inject(url)).statusCode;
const get = async (url: string): Promise<JsonObject> => {
  const answer = await api.app.inject(url);
  expect(answer.statusCode, `${url}: ${answer.body}`).toBe(200);
  return answer.json<JsonObject>();
};
const itemsOf = async (url: string): Promise<JsonObject[]> => (await get(url))['items'] as JsonObject[];
const idsOf = (rows: readonly JsonObject[]): readonly unknown[] => rows.map(({ run_id: id }) => id).sort();

describe('a run that was not trained here', () => {
  it('is in the list of runs, with the status recorded', async () => {
    const rows = await itemsOf('/v1/runs');
    expect(idsOf(rows)).toEqual([agent, torn, storyRun, loaded].sort());
    const tables = ['tasks', 'trajectory_starts', 'turns', 'trajectories', 'run_events', 'evaluation_events'];
    const known = await world.store.query<JsonObject>(
      `select distinct run_id from (${tables.map((table) => `select run_id from ${table}`).join(' union all ')}) where run_id != ''`,
    );
    expect(idsOf(rows)).toEqual(idsOf(known));
    const recorded = {
      status: 'recorded',
      is_trained: false,
      purposes: ['external'],
      steps: 0,
      version: -1,
      reward_mean: null,
      finished_at: null,
    };
    for (const run of [loaded, agent, torn]) {
      expect(await get(`/v1/runs/${run}`)).toMatchObject({ run_id: run, ...recorded });
      expect(Date.parse(String((await get(`/v1/runs/${run}`))['started_at']))).toBeGreaterThan(Date.UTC(2020, 0));
    }
    expect(await get(`/v1/runs/${storyRun}`)).toMatchObject({ status: 'running', is_trained: true, purposes: ['eval', 'train'] });
  });

  it('can be asked for by status and by purpose, page by page', async () => {
    expect(idsOf(await itemsOf('/v1/runs?status=recorded'))).toEqual([agent, torn, loaded].sort());
    expect(idsOf(await itemsOf('/v1/runs?status=running'))).toEqual([storyRun]);
    expect(idsOf(await itemsOf('/v1/runs?purpose=external'))).toEqual([agent, torn, loaded].sort());
    expect(idsOf(await itemsOf('/v1/runs?purpose=train&status=running'))).toEqual([storyRun]);
    const pages: JsonObject[] = [];
    for (let cursor = ''; ;) {
      const page = await get(`/v1/runs?limit=1${cursor}`);
      pages.push(...(page['items'] as JsonObject[]));
      const next = page['next_cursor'];
      if (typeof next !== 'string') break;
      cursor = `&cursor=${next}`;
    }
    expect(idsOf(pages)).toEqual([agent, torn, storyRun, loaded].sort());
  });

  it('has every route of a run, and a run that does not exist has none', async () => {
    const paths = [
      '',
      '/steps',
      '/staleness',
      '/tools',
      '/policies',
      '/discarded',
      '/curves',
      '/selection-bias',
      '/trajectories',
      '/lineage',
    ];
    const more = ['/tool-calls', '/lengths', '/workers', '/questions', '/wall-clock', '/cost', `/compare?with=${storyRun}`];
    for (const path of [...paths, ...more]) {
      for (const run of [loaded, agent, torn]) await get(`/v1/runs/${run}${path}`);
      expect(await statusOf(`/v1/runs/nobody${path}`), path).toBe(404);
    }
  });

  it('answers the questions of the guide that need no step', async () => {
    const [one] = await world.store.query<JsonObject>(
      `select trajectory_id, question_id from trajectories where run_id = '${loaded}' and status = 'answered' limit 1`,
    );
    const values = {
      ...{ run: loaded, other: agent, step: 1 },
      ...{ trajectory: String(one?.['trajectory_id']), question: String(one?.['question_id']) },
    };
    const ofSteps = new Set([0, 5, 6]);
    for (const [at, { title, sql, routes }] of guideQuestions.entries()) {
      const rows = await world.store.query<JsonObject>(sql, { params: paramsOf(sql, values) });
      if (!ofSteps.has(at)) expect(rows.length, title).toBeGreaterThan(0);
      for (const route of routes.filter((path) => !path.includes('/steps/'))) await get(routeOf(route, values));
    }
  });

  it('is filtered by purpose everywhere', async () => {
    const counted = async (run: string, of: string) => {
      const sum = (rows: readonly JsonObject[], name: string) => rows.reduce((total, row) => total + Number(row[name]), 0);
      return {
        cost: sum(await itemsOf(`/v1/runs/${run}/cost${of}`), 'trajectories'),
        questions: sum(await itemsOf(`/v1/runs/${run}/questions${of}`), 'tries'),
        workers: sum(await itemsOf(`/v1/runs/${run}/workers${of}`), 'started'),
        calls: sum(await itemsOf(`/v1/runs/${run}/tools${of}`), 'calls'),
        seconds: sum(await itemsOf(`/v1/runs/${run}/wall-clock${of}`), 'seconds'),
        lengths: sum(await itemsOf(`/v1/runs/${run}/lengths${of}`), 'late'),
      };
    };
    const all = await counted(loaded, '');
    for (const value of Object.values(all)) expect(value).toBeGreaterThan(0);
    expect(await counted(loaded, '?purpose=external')).toEqual(all);
    const nothing = { cost: 0, questions: 0, workers: 0, calls: 0, seconds: 0, lengths: 0 };
    expect(await counted(loaded, '?purpose=train')).toEqual(nothing);
    expect(await counted(loaded, '?purpose=eval')).toEqual(nothing);
    const mine = await counted(agent, '');
    expect(mine).toMatchObject({ cost: 10, questions: 10, workers: 10, calls: 10, lengths: 0 });
    expect(await statusOf(`/v1/runs/${loaded}/cost?purpose=fun`)).toBe(400);
  });

  it('is shown in the terminal, alone and in the list', async () => {
    const runs = await listRuns(world.store);
    expect(idsOf(runs as unknown as JsonObject[])).toEqual([agent, torn, storyRun, loaded].sort());
    expect(runs.find(({ run_id: id }) => id === agent)).toMatchObject({ state: 'recorded', steps: 0, reward_last: null, attempts: 10 });
    expect(renderRuns(runs)).toMatch(/external-agent +recorded +0 +– +10 +– /);
    const summary = await summaryOf(world.store, agent);
    expect(summary).toMatchObject({
      state: 'recorded',
      rollouts: { external: { attempts: 10, counted: 10, reward_mean: 0.5, turns_mean: 1, tokens_mean: 10 } },
    });
    expect(renderSummary(summary)).toContain('external        10 finished attempts, 10 of them count: reward 0.500, 1.0 turns');
    expect(await summaryOf(world.store, torn)).toMatchObject({ state: 'recorded', rollouts: {} });
    await expect(summaryOf(world.store, 'nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('has curves by policy version, or by the order of its attempts where versions are unknown', async () => {
    const byVersion = await readRecordedCurves(world.store, loaded);
    expect(byVersion.unit).toBe('policy version');
    const costs = await itemsOf(`/v1/runs/${loaded}/cost`);
    expect(byVersion.points.map(({ step, values }) => [step, values['trajectories']])).toEqual(
      costs.map(({ version, trajectories }) => [version, trajectories]),
    );
    const inOrder = await readRecordedCurves(world.store, agent);
    expect(inOrder.unit).toBe('part of the attempts');
    expect(inOrder.points.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(inOrder.points.map(({ values }) => values['reward_mean'])).toEqual([0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    expect(inOrder.points[0]?.values).toMatchObject({ searches_mean: 1, accesses_mean: 0, turns_mean: 1, f1_max: 0 });
    const svg = renderChart(
      charts.find(({ name }) => name === 'reward')!,
      { run: agent, unit: inOrder.unit },
      inOrder.points,
    );
    expect(svg).toContain('>part of the attempts<');
    expect((await readRecordedCurves(world.store, torn)).points).toEqual([]);
  });
});
