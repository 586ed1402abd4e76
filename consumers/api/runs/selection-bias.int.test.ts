// Checks the comparison of kept and discarded trajectories against figures computed here in the simplest way, for random samples, and its
// distances against kolmogorovSmirnovTest of ClickHouse.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../../infra/clickhouse/client.ts';
import type { HttpServer } from '../../../infra/http/server.ts';
import { testApi } from '../../../infra/testing/api.ts';
import { outgoing, randomEvent, seeded } from '../../../infra/testing/events.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { migratedDatabase, startMigratedStore } from '../../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../../infra/testing/store.ts';
import { storeLog } from '../../../infra/testing/api-story.ts';
import type { OutgoingEvent } from '../../../streams/core/ports.ts';
import { discardReasons } from '../../../streams/batch/batch.ts';
import type { JsonObject } from '../../../infra/testing/json.ts';

let engine: TestStore;
let store: ClickHouseStore;
let server: HttpServer;

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

interface OutcomeCase {
  readonly step: number;
  /** Empty: kept. */
  readonly reason: string;
  readonly reward: number;
  readonly turns: number;
  readonly tokens: number;
}

const random = seeded(3);
const row = (id: string, { reward, turns, tokens }: OutcomeCase) => ({
  ...{ group_id: id, trajectory_id: `${id}.0`, attempt: 0, question_id: 'q', reward, turns, tokens, advantage: 0 },
  ...{ version_first: 0, version_last: 0, staleness_total: turns, staleness_in_flight: 0, staleness_in_queue: turns },
  ...{ staleness_worst: 0, staleness_best: 0, staleness_span: 1, staleness_token_mean: 0, staleness_token_p95: 0 },
  ...{ staleness_token_max: 0, unknown_tokens: 0, flight_ms: tokens, queue_ms: 0 },
});

let runs = 0;

/** Writes outcomes of a run, a new one unless given, to the log and the tables. */
async function tell(outcomes: readonly OutcomeCase[], run?: string): Promise<string> {
  runs += 1;
  const run_id = run ?? `bias-${runs}`;
  const id = `bias-${runs}`;
  const kept = byStep(outcomes);
  const events: OutgoingEvent[] = [...kept].map(([step, own]) => {
    const trajectories = own.map((outcome, i) => row(`${id}-s${step}-${i}`, outcome));
    const versions = { run_id, step, version_before: step - 1, version_after: step, trajectories };
    return outgoing('StepCompleted', randomEvent('StepCompleted', random, versions));
  });
  outcomes.forEach((outcome, i) => {
    if (outcome.reason === '') return;
    const { advantage: _, ...account } = row(`${id}-d${i}`, outcome);
    const fields = { run_id, ...account, reason: outcome.reason, version: outcome.step - 1 };
    events.push(outgoing('TrajectoryDiscarded', randomEvent('TrajectoryDiscarded', random, fields)));
  });
  const log = new MemoryLog();
  await log.writer().append([outgoing('RunStarted', randomEvent('RunStarted', random, { run_id })), ...events]);
  await storeLog(log, store, id);
  return run_id;
}

function byStep(outcomes: readonly OutcomeCase[]): ReadonlyMap<number, readonly OutcomeCase[]> {
  const steps = new Map<number, OutcomeCase[]>();
  for (const outcome of outcomes) if (outcome.reason === '') steps.set(outcome.step, [...(steps.get(outcome.step) ?? []), outcome]);
  return steps;
}

const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

/** Interpolates between the two nearest ranks. */
function percentile(values: readonly number[], level: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const at = level * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low === undefined || high === undefined ? null : low + (high - low) * (at - Math.floor(at));
}

/** Tries every value. */
function distance(some: readonly number[], others: readonly number[]): number | null {
  if (some.length === 0 || others.length === 0) return null;
  const share = (values: readonly number[], most: number): number => values.filter((value) => value <= most).length / values.length;
  return Math.max(...[...some, ...others].map((value) => Math.abs(share(some, value) - share(others, value))));
}

const metrics = ['reward', 'turns', 'tokens'] as const;

function expectedOf(kept: readonly OutcomeCase[], discarded: readonly OutcomeCase[]): JsonObject {
  const figures: JsonObject = { kept: kept.length, discarded: discarded.length };
  for (const metric of metrics) {
    const [some, others] = [kept.map((one) => one[metric]), discarded.map((one) => one[metric])];
    figures[`${metric}_ks`] = distance(some, others);
    for (const [side, values] of [['kept', some] as const, ['discarded', others] as const]) {
      figures[`${side}_${metric}_mean`] = mean(values);
      figures[`${side}_${metric}_p50`] = percentile(values, 0.5);
      figures[`${side}_${metric}_p95`] = percentile(values, 0.95);
    }
  }
  figures['kept_staleness_mean'] = mean(kept.map(({ turns }) => turns));
  figures['discarded_staleness_mean'] = mean(discarded.map(({ turns }) => turns));
  figures['kept_flight_ms_mean'] = mean(kept.map(({ tokens }) => tokens));
  figures['discarded_flight_ms_mean'] = mean(discarded.map(({ tokens }) => tokens));
  return figures;
}

/** Allows differences in the last digits. */
const close = (expected: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(expected).map(([name, value]) => [name, typeof value === 'number' ? (expect.closeTo(value, 9) as unknown) : value]),
  );

async function get(url: string): Promise<JsonObject> {
  const answer = await server.app.inject(url);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<JsonObject>();
}

const outcome = fc.record({
  step: fc.integer({ min: 1, max: 3 }),
  reason: fc.oneof(fc.constant(''), fc.constantFrom(...discardReasons)),
  // few distinct rewards and lengths, so that there are ties; tokens are almost always distinct
  reward: fc.constantFrom(0, 0, 0.25, 1),
  turns: fc.integer({ min: 0, max: 5 }),
  tokens: fc.integer({ min: 0, max: 1_000_000 }),
});

describe('selection bias', () => {
  it('has the figures computed from the samples, by step, in total, and by reason', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(outcome, { minLength: 1, maxLength: 120 }),
        fc.constantFrom(...discardReasons),
        async (outcomes, reason) => {
          const run = await tell(outcomes);
          const of = (rows: readonly OutcomeCase[], only = (_: string) => true): JsonObject =>
            close(
              expectedOf(
                rows.filter((one) => one.reason === ''),
                rows.filter((one) => one.reason !== '' && only(one.reason)),
              ),
            );
          const whole = await get(`/v1/runs/${run}/selection-bias`);
          const steps = [...new Set(outcomes.map(({ step }) => step))].sort();
          const inStep = (step: number) => outcomes.filter((one) => one.step === step);
          expect(whole['items']).toEqual(steps.map((step) => ({ step, ...of(inStep(step)) })));
          expect(whole['overall']).toEqual(of(outcomes));
          expect(await store.query(`select * except run_id from selection_bias where run_id = '${run}' order by step`)).toEqual(
            steps.map((step) => ({ step, ...of(inStep(step)) })),
          );
          const reasons = [...new Set(outcomes.map((one) => one.reason))].filter((one) => one !== '').sort();
          expect(await store.query(`select * except run_id from selection_bias_by_reason where run_id = '${run}' order by reason`)).toEqual(
            reasons.map((one) => ({ reason: one, ...of(outcomes, (other) => other === one) })),
          );
          expect((whole['by_reason'] as JsonObject[]).filter((one) => one['reason'] !== '').map(shortly)).toEqual(
            reasons.map((one) => {
              const figures = of(outcomes, (other) => other === one);
              return {
                ...{ reason: one, trajectories: figures['discarded'], tokens_p95: figures['discarded_tokens_p95'] },
                ...{ reward_mean: figures['discarded_reward_mean'], turns_ks: figures['turns_ks'] },
              };
            }),
          );
          const some = await get(`/v1/runs/${run}/selection-bias?reason=${reason}&from_step=2&to_step=2`);
          const within = (other: string): boolean => other === reason;
          const left = inStep(2).filter((one) => one.reason === '' || within(one.reason));
          expect(some['items']).toEqual(left.length === 0 ? [] : [{ step: 2, ...of(left) }]);
          expect(some['overall']).toEqual(left.length === 0 ? null : of(left));
        },
      ),
      { numRuns: 8 },
    );
  });

  it('has the figures of all outcomes when one arrives between two requests', async () => {
    const one = (step: number, at: number): OutcomeCase => ({
      ...{ step, reason: at % 3 === 0 ? 'stale' : '', reward: (at % 4) / 4, turns: at % 7, tokens: at * 13 },
    });
    const outcomes = Array.from({ length: 600 }, (_, at) => one(1 + Math.floor(at / 2), at));
    const run = await tell(outcomes);
    const overall = async (): Promise<unknown> => (await get(`/v1/runs/${run}/selection-bias?limit=1`))['overall'];
    for (const step of [301, 302, 302, 700]) {
      const [kept, lost] = [outcomes.filter(({ reason }) => reason === ''), outcomes.filter(({ reason }) => reason !== '')];
      expect(await overall()).toEqual(close(expectedOf(kept, lost)));
      const next = one(step, outcomes.length);
      outcomes.push(next);
      await tell([next], run);
    }
  });

  it('counts the trajectories of a step as discarded once a rewind abandons it', async () => {
    const plain = { reason: '', reward: 1, turns: 1, tokens: 1 };
    const run = await tell([1, 2, 3].map((step) => ({ step, ...plain })));
    expect(await get(`/v1/runs/${run}/selection-bias`)).toMatchObject({ overall: { kept: 3, discarded: 0 } });
    const log = new MemoryLog();
    const rewind = { run_id: run, version: 4, to_version: 1, abandoned: [2, 3], trajectories: 2 };
    await log.writer().append([outgoing('RunRewound', randomEvent('RunRewound', random, rewind))]);
    await storeLog(log, store, `${run}-rewound`);
    const after = await get(`/v1/runs/${run}/selection-bias`);
    expect(after).toMatchObject({ overall: { kept: 1, discarded: 2 } });
    expect((after['items'] as JsonObject[]).map(({ step, kept, discarded }) => [step, kept, discarded])).toEqual([
      [1, 1, 0],
      [2, 0, 1],
      [3, 0, 1],
    ]);
    const reasons = (after['by_reason'] as JsonObject[]).map(({ reason, trajectories }) => [reason, trajectories]);
    expect(reasons).toContainEqual(['rewound', 2]);
    const stale = await get(`/v1/runs/${run}/selection-bias?reason=stale`);
    expect((stale['items'] as JsonObject[]).map(({ step }) => step)).toEqual([1]);
    expect(stale).toMatchObject({ overall: { kept: 1, discarded: 0 } });
  });

  it('has the distances that the engine computes', async () => {
    const outcomes = Array.from({ length: 400 }, (_, i): OutcomeCase => {
      const [turns, reward] = [Math.floor(random() * 6) + (i % 2), Math.round(random() * 3) / 3];
      return { step: 1, reason: i % 2 === 0 ? '' : 'stale', reward, turns, tokens: Math.floor(random() ** 2 * 1_000) };
    });
    const { overall } = await get(`/v1/runs/${await tell(outcomes)}/selection-bias`);
    for (const metric of metrics) {
      const [found] = await store.query<{ d: number }>(
        `select kolmogorovSmirnovTest('two-sided')(${metric}, is_kept).1 as d from outcomes where run_id = 'bias-${runs}'`,
      );
      expect(found?.d).toBeGreaterThan(0);
      expect((overall as JsonObject)[`${metric}_ks`]).toBeCloseTo(found?.d ?? -1, 9);
    }
  });

  it('is read page by page; an unknown reason is 400, and an unknown run is 404', async () => {
    const plain = { reason: '', reward: 1, turns: 1, tokens: 1 };
    const run = await tell([1, 2, 3].map((step) => ({ step, ...plain })));
    const first = await get(`/v1/runs/${run}/selection-bias?limit=2`);
    expect((first['items'] as JsonObject[]).map(({ step }) => step)).toEqual([1, 2]);
    const rest = await get(`/v1/runs/${run}/selection-bias?limit=2&cursor=${String(first['next_cursor'])}`);
    expect((rest['items'] as JsonObject[]).map(({ step }) => step)).toEqual([3]);
    expect(rest).toMatchObject({ next_cursor: null, overall: { kept: 3, discarded: 0, reward_ks: null, discarded_turns_p50: null } });
    expect((await server.app.inject(`/v1/runs/${run}/selection-bias?reason=boredom`)).statusCode).toBe(400);
    expect((await server.app.inject('/v1/runs/nobody/selection-bias')).statusCode).toBe(404);
  });
});

const shortly = ({ reason, trajectories, reward_mean, turns_ks, tokens_p95 }: JsonObject): JsonObject => ({
  reason,
  trajectories,
  reward_mean,
  turns_ks,
  tokens_p95,
});
