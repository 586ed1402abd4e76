// Curves and tool figures are the same whether the warehouse has stored all, some or none of them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../../infra/clickhouse/client.ts';
import type { HttpServer } from '../../../infra/http/server.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { storeLog } from '../../../infra/testing/api-story.ts';
import { clockOf } from '../../../infra/testing/clock.ts';
import { outgoing, randomEvent, seeded } from '../../../infra/testing/events.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { migratedDatabase, startMigratedStore } from '../../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../../infra/testing/store.ts';
import type { OutgoingEvent } from '../../../streams/core/ports.ts';
import { StepFigureKeeper } from '../../warehouse/keep-step-figures.ts';
import { ToolFigureKeeper } from '../../warehouse/keep-tool-figures.ts';
import type { JsonObject } from '../../../infra/testing/json.ts';

const RUN = 'figures';
const STEPS = 70;
const random = seeded(11);
let engine: TestStore;
let store: ClickHouseStore;
let server: HttpServer;
let now = 0;

const clock = { ...clockOf(() => now), now: () => 0 };
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;

function turnsOf(trajectory: string, step: number, turns: number): OutgoingEvent[] {
  return Array.from({ length: turns }, (_, turn) => {
    const tool = pick(['search', 'access', '']);
    const failed = tool !== '' && random() < 0.2;
    return outgoing(
      'TurnRecorded',
      randomEvent('TurnRecorded', random, {
        ...{ run_id: RUN, trajectory_id: trajectory, attempt: 0, turn, purpose: 'train', tool, latency_ms: random() * 500 },
        ...{ status: failed ? 'timeout' : 'ok', error_type: failed ? 'slow' : '', policy_spans: [{ version: step - 1, tokens: 3 }] },
        event_id: `${trajectory}/0/${turn + 1}`,
      }),
    );
  });
}

const ACCOUNT = {
  ...{ group_id: 'g', attempt: 0, question_id: 'q', advantage: 0, version_first: 0, version_last: 0, staleness_total: 0 },
  ...{ staleness_in_flight: 0, staleness_in_queue: 0, staleness_worst: 0, staleness_best: 0, staleness_span: 1 },
  ...{ staleness_token_mean: 0, staleness_token_p95: 0, staleness_token_max: 0, unknown_tokens: 0, flight_ms: 0, queue_ms: 0 },
};

/** Two trajectories, and discards at the previous version. */
function stepOf(step: number): { readonly rollouts: OutgoingEvent[]; readonly ledger: OutgoingEvent[] } {
  const rollouts: OutgoingEvent[] = [];
  const trajectories = [0, 1].map((sample) => {
    const trajectory_id = `${RUN}-g${step}.${sample}`;
    const turns = 1 + Math.floor(random() * 4);
    const own = { run_id: RUN, trajectory_id, attempt: 0, purpose: 'train', turns } as const;
    rollouts.push(...turnsOf(trajectory_id, step, turns));
    rollouts.push(outgoing('TrajectoryFinished', randomEvent('TrajectoryFinished', random, { ...own, f1: random(), tool_calls: turns })));
    return { ...ACCOUNT, trajectory_id, turns, reward: random(), tokens: 10 + step };
  });
  const completed = { run_id: RUN, step, version_before: step - 1, version_after: step, trajectories };
  const discards = Array.from({ length: step % 3 }, () =>
    outgoing(
      'TrajectoryDiscarded',
      randomEvent('TrajectoryDiscarded', random, { run_id: RUN, version: step - 1, reason: pick(['stale', 'uniform_group']) }),
    ),
  );
  return { rollouts, ledger: [...discards, outgoing('StepCompleted', randomEvent('StepCompleted', random, completed))] };
}

async function tell(told: string, events: readonly OutgoingEvent[]): Promise<void> {
  const log = new MemoryLog();
  await log.writer().append(events);
  await storeLog(log, store, told);
}

async function get(path: string): Promise<JsonObject> {
  const answer = await server.app.inject(`/v1/runs/${RUN}/${path}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<JsonObject>();
}

/** The view's rows as columns. */
async function ofView(): Promise<JsonObject> {
  const rows = await store.query<JsonObject & { step: number }>(
    `select * except (run_id, at) from curves where run_id = '${RUN}' order by step`,
  );
  const names = Object.keys(rows[0] ?? {}).filter((name) => name !== 'step');
  return {
    steps: rows.map(({ step }) => step),
    series: Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name])])),
  };
}

async function curves(): Promise<JsonObject> {
  const { steps, series } = await get('curves');
  const { at: _at, ...others } = series as JsonObject;
  return { steps, series: others };
}

const count = async (table: string): Promise<number> =>
  Number((await store.query<{ n: number }>(`select count() as n from ${table}`))[0]?.n);

beforeAll(async () => {
  engine = await startMigratedStore();
  store = connectStore({ url: engine.url, database: migratedDatabase });
  server = await testApi({ store });
});

afterAll(async () => {
  await server.close();
  await store.close();
  await engine.stop();
});

describe('the figures of steps', () => {
  const late: OutgoingEvent[] = [];

  it('are those of the view, stored or not', async () => {
    const events: OutgoingEvent[] = [];
    for (let step = 1; step <= STEPS; step += 1) {
      const { rollouts, ledger } = stepOf(step);
      events.push(...ledger, ...rollouts.slice(step === 9 ? 1 : 0));
      if (step === 9) late.push(rollouts[0]!);
    }
    await tell('first', events);
    const before = await curves();
    expect(before).toEqual(await ofView());
    expect(before['steps']).toHaveLength(STEPS);
    const keeper = new StepFigureKeeper({ store, clock });
    expect((await keeper.round()).kept).toBeGreaterThan(60);
    expect(await curves()).toEqual(before);
    while ((await keeper.round()).kept > 0);
    expect(await count('step_figures')).toBe(STEPS - 1);
    expect(await curves()).toEqual(before);
  });

  it('are stored later for a step with late turns', async () => {
    const keeper = new StepFigureKeeper({ store, clock });
    await keeper.round();
    await tell('late', late);
    const after = await curves();
    expect(after).toEqual(await ofView());
    expect((await keeper.round()).kept).toBe(0);
    now += 3_600_000;
    expect((await keeper.round()).kept).toBe(1);
    expect(await count('step_figures')).toBe(STEPS);
    expect(await curves()).toEqual(after);
  });

  it('are the same when two keepers store them at the same time', async () => {
    await store.command('truncate table step_figures');
    const before = await curves();
    await Promise.all([0, 1].map(() => new StepFigureKeeper({ store, clock }).round()));
    expect(await curves()).toEqual(before);
    const some = await get('curves?from_step=3&to_step=5&series=searches_max&series=loss&series=discarded');
    const whole = before['series'] as Record<string, readonly unknown[]>;
    expect(some).toMatchObject({
      steps: [3, 4, 5],
      series: Object.fromEntries(['searches_max', 'loss', 'discarded'].map((name) => [name, whole[name]!.slice(2, 5)])),
    });
  });
});

describe('curves in buckets', () => {
  type Columns = Record<string, (number | null)[]>;
  interface Bucketed {
    readonly every: number;
    readonly steps: number[];
    readonly first_steps: number[];
    readonly series: Columns;
    readonly low?: Columns;
    readonly high?: Columns;
  }
  const bucketed = async (query: string): Promise<Bucketed> => (await get(`curves?${query}`)) as unknown as Bucketed;
  const six = (value: number | null | undefined): number | null =>
    value === null || value === undefined ? null : Number(value.toPrecision(6));
  const named = 'series=reward_mean&series=turns_p95&series=discarded&series=discarded_stale&series=loss';

  it('have the last, lowest, and highest value of their steps, stored or not', async () => {
    const whole = (await get(`curves?${named}`)) as unknown as Bucketed;
    const check = async (): Promise<void> => {
      for (const points of [1, 3, 7, 69]) {
        const { every, steps, first_steps, series, low, high } = await bucketed(`points=${points}&${named}`);
        expect(every).toBe(Math.ceil(STEPS / points));
        for (const [bucket, last] of steps.entries()) {
          const places = whole.steps.flatMap((step, at) => (step >= (first_steps[bucket] ?? 0) && step <= last ? [at] : []));
          for (const [name, values] of Object.entries(whole.series)) {
            const known = places.map((at) => values[at] ?? null).filter((value): value is number => value !== null);
            const found = [series[name]?.[bucket], low?.[name]?.[bucket], high?.[name]?.[bucket]];
            expect([name, ...found]).toEqual([name, ...[known.at(-1), Math.min(...known), Math.max(...known)].map(six)]);
          }
        }
      }
    };
    await check();
    await store.command('alter table step_figures delete where step % 3 = 0 settings mutations_sync = 1');
    await check();
    while ((await new StepFigureKeeper({ store, clock }).round()).kept > 0);
  });

  it('are the steps themselves when there are enough points, without low and high', async () => {
    const { every, steps, low, high, series } = await bucketed(`points=400&from_step=5&to_step=20&${named}`);
    const whole = (await get(`curves?from_step=5&to_step=20&${named}`)) as unknown as Bucketed;
    expect([every, steps, low, high]).toEqual([1, whole.steps, undefined, undefined]);
    expect(series).toEqual(Object.fromEntries(Object.entries(whole.series).map(([name, values]) => [name, values.map(six)])));
  });

  it('have extra series, such as reward_all_mean as in the spreads, only when a request names them', async () => {
    const spreads = (await get('spreads?limit=1000&fields=step,reward_all_mean'))['items'] as { step: number; reward_all_mean: number }[];
    const { steps, series } = await bucketed('points=400&series=reward_all_mean&series=version_after&series=heldout_f1');
    expect(series['reward_all_mean']?.map((value, at) => [steps[at], value])).toEqual(
      spreads.map((one) => [one.step, six(one.reward_all_mean)]),
    );
    expect(series['version_after']).toEqual(steps);
    expect(new Set(series['heldout_f1'])).toEqual(new Set([null]));
    expect(Object.keys((await bucketed('points=9')).series)).not.toContain('reward_all_mean');
  });

  it('are in the list of runs when reward_spark is named', async () => {
    const list = async (query: string): Promise<JsonObject[]> =>
      (await server.app.inject(`/v1/runs${query}`)).json<{ items: JsonObject[] }>().items;
    const [newest] = (await get('steps?order=desc&limit=1&fields=step,reward_mean'))['items'] as { reward_mean: number }[];
    const [row] = await list('?fields=reward_spark');
    const spark = row?.['reward_spark'] as number[];
    expect([row?.['run_id'], spark.length, spark.at(-1)]).toEqual([RUN, 60, newest?.reward_mean]);
    expect((await list(''))[0]).not.toHaveProperty('reward_spark');
  });
});

describe('the figures of tools', () => {
  /** Without percentiles, because stored figures compute them from buckets. */
  const exact = (report: JsonObject): JsonObject =>
    JSON.parse(
      JSON.stringify(report, (name, value: unknown) =>
        /^ms_p|^slower$/.test(name) ? undefined : typeof value === 'number' ? Number(value.toPrecision(9)) : value,
      ),
    ) as JsonObject;

  const bothSides = async (): Promise<readonly JsonObject[]> => [
    exact(await get('tools')),
    ...(await Promise.all([0, 5, 16, 33, 64, 900].map(async (step) => exact(await get(`tools?since_step=${step}`))))),
  ];

  const sorted = (reports: readonly JsonObject[]): readonly JsonObject[] =>
    reports.map((report) => ({
      ...report,
      changes: [...((report['changes'] ?? []) as JsonObject[])].sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
    }));

  it('are the same, stored or not, before and since any step', async () => {
    const before = sorted(await bothSides());
    const ms = ((await get('tools'))['items'] as JsonObject[]).map((item) => [item['ms_p50'], item['ms_p95']] as [number, number]);
    const keeper = new ToolFigureKeeper({ store }, 1);
    while ((await keeper.round()).kept > 0);
    expect(await count('tool_figures')).toBeGreaterThan(4);
    expect(sorted(await bothSides())).toEqual(before);
    const kept = ((await get('tools'))['items'] as JsonObject[]).map((item) => [item['ms_p50'], item['ms_p95']] as [number, number]);
    for (const [at, value] of kept.flat().entries()) expect(Math.abs(value / ms.flat()[at]! - 1)).toBeLessThan(0.05);
  });

  it('count a late turn, and a repeated one once', async () => {
    const before = (await get('tools'))['items'] as { calls: number; tool: string }[];
    const calls = before.find(({ tool }) => tool === 'search')!.calls;
    const event = randomEvent('TurnRecorded', random, {
      ...{ run_id: RUN, trajectory_id: `${RUN}-late.0`, attempt: 0, turn: 0, tool: 'search', status: 'ok', error_type: '' },
      ...{ policy_spans: [{ version: 1, tokens: 1 }], purpose: 'train', event_id: `${RUN}-late.0/0/1` },
    });
    await tell('again', [outgoing('TurnRecorded', event), outgoing('TurnRecorded', event)]);
    const keeper = new ToolFigureKeeper({ store }, 1);
    const found = async (): Promise<number> =>
      ((await get('tools'))['items'] as { calls: number; tool: string }[]).find(({ tool }) => tool === 'search')!.calls;
    expect(await found()).toBe(calls + 1);
    while ((await keeper.round()).kept > 0);
    expect(await found()).toBe(calls + 1);
  });
});
