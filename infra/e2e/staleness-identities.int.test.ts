// The staleness of random ledgers from every source: the trainer's entries, the tables, the views, REST and the terminal give the same
// number for the same name, and the parts of a mean add up to it.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { discardFields, stepMetrics, trainedFields } from '../../streams/trainer/entries.ts';
import type { AccountedTrajectory } from '../../streams/batch/batch.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { newGroup, foldRequest } from '../../streams/group/group.ts';
import { stalenessOf, type TokenAges, type VersionSpan } from '../../streams/staleness/staleness.ts';
import { newAttempt, spansOf, type Attempt, type AttemptOutcome } from '../../streams/trajectory/attempt.ts';
import { summaryOf } from '../cli/status/run-summary.ts';
import { connectStore, type ClickHouseStore } from '../clickhouse/client.ts';
import { readMigrations } from '../clickhouse/migration-files.ts';
import type { HttpServer } from '../http/server.ts';
import { storeLog } from '../testing/api-story.ts';
import { testApi } from '../testing/api.ts';
import { outgoing, randomEvent, seeded } from '../testing/events.ts';
import { MemoryLog } from '../testing/memory-log.ts';
import { requested } from '../testing/rollout-events.ts';
import { migratedDatabase, startMigratedStore } from '../testing/migrated-store.ts';
import type { TestStore } from '../testing/store.ts';
import type { JsonObject } from '../testing/json.ts';

let engine: TestStore;
let store: ClickHouseStore;
let server: HttpServer;
let runs = 0;
const random = seeded(11);

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

const update = { loss: 0, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 1 };
const ending: AttemptOutcome = {
  ...{ sequence: 1, status: 'answered', reward: 1, f1: 1, em: 1, formatOk: true, turns: 1, toolCalls: 0, tokens: 0 },
  ...{ startedAt: 0, finishedAt: 1_000_000 },
};

/** `back`: how many versions before the newest one; -1: an unknown version. */
const spans = fc.array(fc.record({ back: fc.integer({ min: -1, max: 6 }), tokens: fc.integer({ min: 1, max: 400 }) }), {
  minLength: 1,
  maxLength: 6,
});
const step = fc.record({ trained: fc.array(spans, { minLength: 1, maxLength: 9 }), discarded: fc.array(spans, { maxLength: 6 }) });
type DrawnSpans = readonly { readonly back: number; readonly tokens: number }[];

/** In turn order: versions never decrease, unless they are unknown. */
function attemptOf(drawn: DrawnSpans, version: number): Attempt {
  const sorted = [...drawn].sort((a, b) => b.back - a.back);
  const triples = sorted.flatMap(({ back, tokens }, at) => [at + 1, back < 0 ? -1 : Math.max(0, version - back), tokens]);
  return { ...newAttempt(0), spans: triples, tokens: drawn.reduce((sum, { tokens }) => sum + tokens, 0), ending };
}

interface DrawnLedger {
  readonly run: string;
  readonly steps: readonly { readonly trained: readonly (readonly VersionSpan[])[]; readonly version: number }[];
  readonly events: readonly OutgoingEvent[];
}

function ledgerOf(drawn: readonly { readonly trained: readonly DrawnSpans[]; readonly discarded: readonly DrawnSpans[] }[]): DrawnLedger {
  runs += 1;
  const run = `aged-${runs}`;
  const events: OutgoingEvent[] = [outgoing('RunStarted', randomEvent('RunStarted', random, { run_id: run, sequence: 0 }))];
  const steps = drawn.map(({ trained, discarded }, at) => {
    const version = at + 3;
    const ages: TokenAges = new Map();
    const batch = trained.map((one, i): AccountedTrajectory => {
      const attempt = attemptOf(one, version);
      const names = { groupId: `${run}-g${at}`, trajectoryId: `${run}-g${at}.${i}`, questionId: 'q' };
      return { ...names, attempt, ending, reward: i % 2, advantage: 0, staleness: stalenessOf(spansOf(attempt), version, ages) };
    });
    const made = { run_id: run, step: version + 1, version_before: version, version_after: version + 1, groups: 1 };
    const metrics = stepMetrics(batch, ages, update);
    const trajectories = batch.map((one) => trainedFields(one, 5_000));
    events.push(
      outgoing('StepCompleted', randomEvent('StepCompleted', random, { ...made, sequence: events.length, metrics, trajectories })),
    );
    discarded.forEach((one, i) => {
      const request = requested({ trajectory: `${run}-d${at}.${i}`, run });
      const group = newGroup(request);
      foldRequest(group, request, { partition: 0, offset: 0 });
      const trajectory = group.trajectories.get(request.trajectory_id)!;
      const fields = discardFields({ trajectory, number: 0, attempt: attemptOf(one, version), reason: 'stale' }, { version, nowMs: 5_000 });
      const said = { run_id: run, sequence: events.length, ...fields };
      events.push(outgoing('TrajectoryDiscarded', randomEvent('TrajectoryDiscarded', random, said)));
    });
    return { version, trained: batch.map(({ attempt }) => spansOf(attempt)) };
  });
  return { run, steps, events };
}

/** A straightforward computation from the versions of the tokens alone. */
function expectedOf(trained: readonly (readonly VersionSpan[])[], version: number) {
  const known = trained.map((list) => list.filter((one) => one.version >= 0));
  const total = known.map(([first]) => (first === undefined ? 0 : version - first.version));
  const flight = known.map((list, i) => Math.min(total[i]!, (list.at(-1)?.version ?? 0) - (list[0]?.version ?? 0)));
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const ages = known.flat().flatMap((one) => Array.from({ length: one.tokens }, () => version - one.version));
  const ranked = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.ceil(0.95 * values.length) - 1] ?? 0;
  return {
    staleness_mean: mean(total),
    staleness_p95: ranked(total),
    staleness_max: Math.max(...total),
    staleness_in_flight_mean: mean(flight),
    staleness_in_queue_mean: mean(total.map((value, i) => value - flight[i]!)),
    staleness_token_mean: ages.length === 0 ? 0 : mean(ages),
    staleness_token_p95: ranked(ages),
    staleness_token_max: ages.reduce((most, age) => Math.max(most, age), 0),
  };
}

const get = async (url: string): Promise<JsonObject> => {
  const answer = await server.app.inject(url);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<JsonObject>();
};
const itemsOf = async (url: string) => (await get(url))['items'] as JsonObject[];
const sql = async (query: string, run: string): Promise<JsonObject> => {
  const answer = await server.app.inject({ method: 'POST', url: '/v1/sql', payload: { query, params: { run } } });
  return answer.json<{ data: JsonObject[] }>().data[0] ?? {};
};

/** Compares every figure of `found` that is in `wanted`; there must be at least one. */
function agree(where: string, found: JsonObject | undefined, wanted: Readonly<Record<string, number>>): void {
  const shared = Object.keys(wanted).filter((name) => found !== undefined && name in found);
  expect(shared.length, where).toBeGreaterThan(0);
  for (const name of shared) expect(Number(found?.[name]), `${where} ${name}`).toBeCloseTo(wanted[name]!, 9);
}

/** `mean = in_flight + in_queue`, with any prefix. */
function partsAddUp(where: string, row: JsonObject): void {
  for (const name of Object.keys(row).filter((one) => one.endsWith('staleness_in_flight_mean'))) {
    const before = name.slice(0, -'in_flight_mean'.length);
    const parts = Number(row[name]) + Number(row[`${before}in_queue_mean`]);
    expect(parts, `${where} ${before}mean`).toBeCloseTo(Number(row[`${before}mean`]), 9);
  }
}

async function curveAt(run: string, number: number): Promise<JsonObject> {
  const { steps, series } = (await get(`/v1/runs/${run}/curves`)) as unknown as { steps: number[]; series: Record<string, unknown[]> };
  const at = steps.indexOf(number);
  return Object.fromEntries(Object.entries(series).map(([name, values]) => [name, values[at]]));
}

async function checkStep(run: string, number: number, wanted: ReturnType<typeof expectedOf>): Promise<void> {
  const one = `from_step=${number}&to_step=${number}`;
  const rows: Readonly<Record<string, JsonObject | undefined>> = {
    steps: (await itemsOf(`/v1/runs/${run}/steps?${one}`))[0],
    step: (await get(`/v1/runs/${run}/steps/${number}`))['step'] as JsonObject,
    staleness: (await itemsOf(`/v1/runs/${run}/staleness?${one}`))[0],
    curves: await curveAt(run, number),
    'SQL of steps': await sql(`SELECT * FROM steps WHERE run_id = {run:String} AND step = ${number}`, run),
    'SQL of staleness_by_step': await sql(`SELECT * FROM staleness_by_step WHERE run_id = {run:String} AND step = ${number}`, run),
    'SQL of curves': await sql(`SELECT * FROM curves WHERE run_id = {run:String} AND step = ${number}`, run),
  };
  for (const [where, row] of Object.entries(rows)) {
    agree(where, row, wanted);
    partsAddUp(where, row ?? {});
  }
  const [bias] = await itemsOf(`/v1/runs/${run}/selection-bias?${one}`);
  expect(bias?.['kept_staleness_mean']).toBeCloseTo(wanted.staleness_mean, 9);
}

it('has the same number for the same name in REST, SQL and the terminal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 3 }), async (drawn) => {
      const { run, steps, events } = ledgerOf(drawn);
      const log = new MemoryLog();
      await log.writer().append(events);
      await storeLog(log, store, run);
      for (const { version, trained } of steps) await checkStep(run, version + 1, expectedOf(trained, version));

      const { staleness } = await summaryOf(store, run);
      const all = await sql(
        `SELECT avg(staleness_total) AS staleness_mean, avg(staleness_in_flight) AS staleness_in_flight_mean,
           avg(staleness_in_queue) AS staleness_in_queue_mean, max(staleness_total) AS staleness_max
         FROM step_trajectories WHERE run_id = {run:String}`,
        run,
      );
      const told = Object.fromEntries(Object.entries(staleness).map(([name, value]) => [`staleness_${name}`, value]));
      agree('the terminal', told, all as Record<string, number>);
      partsAddUp('the terminal', told);
      const most = await sql('SELECT max(staleness_max) AS most FROM steps WHERE run_id = {run:String}', run);
      expect(await get(`/v1/runs/${run}`)).toMatchObject({ staleness_max: most['most'] });
      const [reason] = await itemsOf(`/v1/runs/${run}/compare?with=${run}`).then((rows) =>
        rows.filter(({ name }) => name === 'staleness_max'),
      );
      expect(Number(reason?.['this_run'])).toBe(most['most']);
    }),
    { numRuns: 3 },
  );
}, 600_000);

it('is corrected in rows that an earlier release stored, so that they agree with the log', async () => {
  const { run, events } = ledgerOf([
    { trained: [[{ back: 3, tokens: 5 }], [{ back: 0, tokens: 1 }], [{ back: 0, tokens: 1 }]], discarded: [] },
  ]);
  const asBefore = events.map((event) => {
    if (event.type !== 'StepCompleted') return event;
    const { metrics } = event.event;
    const ofTokens = { staleness_mean: metrics.staleness_token_mean, staleness_p95: metrics.staleness_token_p95 };
    const notSaid = { staleness_token_mean: -1, staleness_token_p95: -1, staleness_token_max: -1 };
    return { ...event, event: { ...event.event, metrics: { ...metrics, ...ofTokens, ...notSaid } } };
  });
  const log = new MemoryLog();
  await log.writer().append(asBefore);
  await storeLog(log, store, run);
  const query = 'SELECT * EXCEPT (run_id) FROM steps WHERE run_id = {run:String}';
  const rowOf = async (of: string): Promise<JsonObject> => (await store.query<JsonObject>(query, { params: { run: of } }))[0] ?? {};
  const now = await rowOf(run);
  agree('a step of an older entry', now, { staleness_mean: 1, staleness_token_mean: 15 / 7, staleness_token_max: 3 });
  partsAddUp('a step of an older entry', now);

  // what an earlier release stored for the same entry, and the result of the migration
  const before = { ...now, run_id: `${run}-before`, staleness_mean: now['staleness_token_mean'] };
  await store.insert(
    'steps',
    [{ ...before, staleness_token_mean: -1, staleness_token_p95: -1, staleness_token_max: -1 } as never],
    'before',
  );
  const { statements } = (await readMigrations()).find(({ name }) => name === '0010-staleness')!;
  for (const statement of statements.filter((one) => one.includes('update'))) await store.command(statement);
  expect(await rowOf(`${run}-before`)).toEqual(now);
});
