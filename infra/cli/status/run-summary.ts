// The summary of a run, from the tables.
import type { Store } from '../../../streams/core/ports.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { NO_LEARNER } from '../../../streams/run/fold.ts';
import type { Config } from '../../config/descriptors.ts';
import { connectWarehouse } from '../../app/open/connections.ts';

export interface ScoreSummary {
  readonly policy_version: number;
  readonly questions: number;
  /** Samples per question; 1 = greedy decoding. */
  readonly samples: number;
  readonly avg_f1: number;
  /** 95 % interval of avg_f1. */
  readonly avg_f1_low: number;
  readonly avg_f1_high: number;
  readonly avg_em: number;
  readonly reward_mean: number;
}

/** One line in the list of runs. */
export interface RunLine {
  readonly run_id: string;
  readonly state: string;
  readonly started_at: string;
  readonly seed: number;
  readonly algorithm: string;
  readonly steps: number;
  readonly reward_last: number | null;
  /** Finished attempts of all purposes. */
  readonly attempts: number;
}

/** Finished attempts with one purpose. */
export interface Rollouts {
  readonly attempts: number;
  /** Attempts that were not canceled, failed, or refused. The means are over them. */
  readonly counted: number;
  readonly reward_mean: number | null;
  readonly turns_mean: number | null;
  readonly tokens_mean: number | null;
}

export interface RunSummary {
  readonly run_id: string;
  readonly state: string;
  /** Why the run ended; empty while it is running. */
  readonly reason: string;
  /** One sentence about the end; empty while the run is running, and when the ledger does not record it. */
  readonly detail: string;
  readonly seed: number;
  readonly algorithm: string;
  readonly steps: number;
  /** What was collected with a policy that the trainer does not train; null for a training run. */
  readonly collected: {
    readonly batches: number;
    readonly trajectories: number;
    readonly tokens: number;
    readonly reward_mean: number | null;
  } | null;
  readonly version: number;
  readonly trajectories: number;
  /** Generated tokens in the trajectories that were trained on. */
  readonly tokens: number;
  readonly generated_tokens: number;
  /** Mean reward of the groups that were trained on, over the first and the last 20 steps. */
  readonly reward_first_20: number | null;
  readonly reward_last_20: number | null;
  /** The same over all finished trajectories, trained on or not. */
  readonly reward_all_first_20: number | null;
  readonly reward_all_last_20: number | null;
  /** Over the trajectories that were trained on, each counted once: mean = in_flight_mean + in_queue_mean. */
  readonly staleness: StalenessRow & { readonly limit: number };
  /** By purpose. */
  readonly rollouts: Readonly<Record<string, Rollouts>>;
  /** Trajectories that were discarded, or trained on in a step that a rewind abandoned, by reason. */
  readonly discarded: Readonly<Record<string, number>>;
  /** Abandoned attempts, by reason. */
  readonly expired: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly evaluation: { readonly before: ScoreSummary | null; readonly after: ScoreSummary | null };
  /** One evaluation on held-out questions per version, in order. */
  readonly heldout: readonly ScoreSummary[];
}

interface StartedRow {
  readonly seed: number;
  readonly algorithm: string;
  readonly max_staleness: number;
  readonly backend: string;
  readonly finished: number;
  readonly reason: string;
  readonly detail: string;
  readonly seconds: number;
}

const STARTED = `
  SELECT
    toFloat64(anyIf(seed, event = 'started')) AS seed,
    anyIf(algorithm, event = 'started') AS algorithm,
    anyIf(max_staleness, event = 'started') AS max_staleness,
    anyIf(backend, event = 'started') AS backend,
    toUInt8(argMax(event, sequence) = 'finished') AS finished,
    if(finished = 1, argMax(reason, sequence), '') AS reason,
    if(finished = 1, argMax(detail, sequence), '') AS detail,
    (toFloat64(dateDiff('millisecond', minIf(at, event = 'started'), greatest(max(at), (SELECT max(at) FROM steps WHERE run_id = {run:String}), (SELECT max(at) FROM batches WHERE run_id = {run:String}))))
      - toFloat64(sumIf(toUnixTimestamp64Milli(at), event = 'continued'))
      + toFloat64(sumIf(toUnixTimestamp64Milli(at), event = 'finished'))
      - if(finished = 1, toFloat64(toUnixTimestamp64Milli(maxIf(at, event = 'finished'))), 0)) / 1000 AS seconds
  FROM run_events WHERE run_id = {run:String} HAVING countIf(event = 'started') > 0`;

type RolloutsRow = Rollouts & { readonly purpose: string };

const ROLLOUTS = `
  WITH status IN ('answered', 'max_turns', 'max_tokens', 'timeout') AS counts
  SELECT purpose, toUInt32(count()) AS attempts, toUInt32(countIf(counts)) AS counted, avgOrNullIf(reward, counts) AS reward_mean,
    avgOrNullIf(turns, counts) AS turns_mean, avgOrNullIf(completion_tokens, counts) AS tokens_mean
  FROM (SELECT * FROM trajectories WHERE run_id = {run:String} ORDER BY trajectory_id, attempt LIMIT 1 BY trajectory_id, attempt)
  GROUP BY purpose ORDER BY purpose`;

const RECORDED = `
  SELECT toFloat64(dateDiff('millisecond', started_at, last_at)) / 1000 AS seconds FROM runs WHERE run_id = {run:String} AND NOT is_trained`;

interface StepsRow {
  readonly steps: number;
  readonly version: number;
  readonly trajectories: number;
  readonly tokens: number;
  readonly first20: number | null;
  readonly last20: number | null;
}

const STEPS = `
  WITH
    (SELECT max(step) FROM steps WHERE run_id = {run:String}) AS newest,
    step NOT IN (SELECT version FROM abandoned_versions WHERE run_id = {run:String}) AS is_kept
  SELECT
    toUInt32(count()) AS steps, max(version_after) AS version,
    toFloat64(sumIf(trajectories, is_kept)) AS trajectories, toFloat64(sumIf(tokens, is_kept)) AS tokens,
    avgOrNullIf(reward_mean, step <= 20) AS first20,
    avgOrNullIf(reward_mean, step > newest - 20) AS last20
  FROM steps
  WHERE run_id = {run:String} AND (_partition, _offset) NOT IN (SELECT _partition, _offset FROM repeated_steps WHERE run_id = {run:String})`;

type CollectedRow = NonNullable<RunSummary['collected']>;

const COLLECTED = `
  SELECT toUInt32(uniqExact(batch)) AS batches, toUInt32(count()) AS trajectories, toFloat64(sum(tokens)) AS tokens, avgOrNull(reward) AS reward_mean
  FROM (SELECT * FROM collected_trajectories WHERE run_id = {run:String} ORDER BY trajectory_id LIMIT 1 BY trajectory_id)`;

interface StalenessRow {
  readonly mean: number | null;
  readonly max: number | null;
  readonly in_flight_mean: number | null;
  readonly in_queue_mean: number | null;
  /** Age of the oldest token, which the limit bounds. */
  readonly worst: number | null;
  /** Over tokens. */
  readonly token_mean: number | null;
}

const STALENESS = `
  SELECT
    avgOrNull(staleness_total) AS mean, maxOrNull(staleness_total) AS max,
    avgOrNull(staleness_in_flight) AS in_flight_mean, avgOrNull(staleness_in_queue) AS in_queue_mean,
    maxOrNull(staleness_worst) AS worst,
    sum(staleness_token_mean * greatest(tokens - unknown_tokens, 0)) / nullIf(sum(greatest(tokens - unknown_tokens, 0)), 0) AS token_mean
  FROM outcomes WHERE run_id = {run:String} AND is_kept`;

const DISCARDED = `
  SELECT reason, toUInt32(count()) AS trajectories FROM outcomes WHERE run_id = {run:String} AND NOT is_kept GROUP BY reason ORDER BY reason`;
const EXPIRED = `
  SELECT reason, toUInt32(uniqExact(trajectory_id, attempt)) AS trajectories
  FROM expired_attempts WHERE run_id = {run:String} GROUP BY reason ORDER BY reason`;

const EVALUATIONS = `
  SELECT policy_version, results.questions AS questions, ended.samples AS samples, results.avg_f1 AS avg_f1,
    results.avg_f1_low AS avg_f1_low, results.avg_f1_high AS avg_f1_high, results.avg_em AS avg_em, ended.reward_mean AS reward_mean
  FROM (SELECT * FROM heldout_evaluations WHERE run_id = {run:String}) AS ended
  INNER JOIN (SELECT * FROM evaluation_results WHERE run_id = {run:String}) AS results USING (run_id, evaluation_id)
  ORDER BY policy_version`;

type RewardRow = Pick<RunSummary, 'reward_all_first_20' | 'reward_all_last_20'>;
const NO_REWARD: RewardRow = { reward_all_first_20: null, reward_all_last_20: null };

const REWARD_OF_ALL = `
  WITH (SELECT maxOrNull(step) FROM steps WHERE run_id = {run:String}) AS newest
  SELECT avgOrNullIf(mean, step <= 20) AS reward_all_first_20, avgOrNullIf(mean, step > newest - 20) AS reward_all_last_20
  FROM (
    SELECT step, avg(reward) AS mean FROM outcomes
    WHERE run_id = {run:String} AND reason NOT IN ('lost', 'expired', 'invalid', 'superseded') GROUP BY step
  )
  WHERE step <= newest`;

/** Throws NOT_FOUND when the tables have no rows of the run. */
export async function summaryOf(store: Store, run: string): Promise<RunSummary> {
  const params = { run };
  const [started, recorded, rollouts, steps, collected, aged, discarded, expired, evaluations, [rewards = NO_REWARD]] = await Promise.all([
    store.query<StartedRow>(STARTED, { params }),
    store.query<Pick<StartedRow, 'seconds'>>(RECORDED, { params }),
    store.query<RolloutsRow>(ROLLOUTS, { params }),
    store.query<StepsRow>(STEPS, { params }),
    store.query<CollectedRow>(COLLECTED, { params }),
    store.query<StalenessRow>(STALENESS, { params }),
    store.query<ReasonRow>(DISCARDED, { params }),
    store.query<ReasonRow>(EXPIRED, { params }),
    store.query<ScoreSummary>(EVALUATIONS, { params }),
    store.query<RewardRow>(REWARD_OF_ALL, { params }),
  ]);
  const start = started[0] ?? startOfRecorded(recorded[0]);
  const [step] = steps;
  const [staleness] = aged;
  if (start === undefined || step === undefined || staleness === undefined) {
    throw new PlatformError('NOT_FOUND', `reading run ${run}: there is no such run; \`turnstream status\` lists them`);
  }
  return {
    run_id: run,
    state: started.length === 0 ? 'recorded' : start.finished === 1 ? 'finished' : 'unfinished',
    ...{ reason: start.reason, detail: start.detail, seed: start.seed, algorithm: start.algorithm, seconds: start.seconds },
    collected: start.backend === NO_LEARNER ? (collected[0] ?? null) : null,
    ...{ steps: step.steps, version: step.version, trajectories: step.trajectories, tokens: step.tokens },
    generated_tokens: step.tokens,
    ...{ reward_first_20: step.first20, reward_last_20: step.last20 },
    ...rewards,
    staleness: { ...staleness, limit: start.max_staleness },
    rollouts: Object.fromEntries(rollouts.map(({ purpose, ...figures }) => [purpose, figures])),
    discarded: byReason(discarded),
    expired: byReason(expired),
    evaluation: beforeAndAfter(evaluations, start.backend === NO_LEARNER),
    heldout: evaluations,
  };
}

/** A run without a ledger has no settings. */
const startOfRecorded = (run: Pick<StartedRow, 'seconds'> | undefined): StartedRow | undefined =>
  run === undefined ? undefined : { seed: 0, algorithm: '', max_staleness: 0, finished: 0, backend: '', reason: '', detail: '', ...run };

interface ReasonRow {
  readonly reason: string;
  readonly trajectories: number;
}

const byReason = (rows: readonly ReasonRow[]): Record<string, number> =>
  Object.fromEntries(rows.map(({ reason, trajectories }) => [reason, trajectories]));

/** A run that only collects is evaluated once, at its end, and its model does not always report a version. */
function beforeAndAfter(evaluations: readonly ScoreSummary[], isCollected: boolean): RunSummary['evaluation'] {
  if (isCollected) return { before: null, after: evaluations.at(-1) ?? null };
  const before = evaluations.find(({ policy_version: version }) => version === 0) ?? null;
  const after = evaluations.findLast(({ policy_version: version }) => version > 0) ?? null;
  return { before, after };
}

const RUNS = `
  SELECT run_id, status AS state, formatDateTime(started_at, '%FT%TZ', 'UTC') AS started_at, toFloat64(seed) AS seed, algorithm,
    toUInt32(steps) AS steps, if(steps = 0, NULL, reward_mean) AS reward_last, toUInt32(ended.attempts) AS attempts
  FROM runs
  LEFT JOIN (SELECT run_id, uniqExact(trajectory_id, attempt) AS attempts FROM trajectories GROUP BY run_id) AS ended USING (run_id)
  ORDER BY runs.started_at DESC LIMIT 100`;

/** The newest hundred runs, newest first. */
export const listRuns = (store: Store): Promise<readonly RunLine[]> => store.query<RunLine>(RUNS);

/** Opens the configured store for one summary. */
export async function runSummary(config: Config, run: string): Promise<RunSummary> {
  const store = connectWarehouse(config);
  try {
    return await summaryOf(store, run);
  } finally {
    await store.close();
  }
}
