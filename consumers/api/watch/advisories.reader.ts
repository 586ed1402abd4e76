// Reads the figures that the advisories of a run are derived from.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { RECENT, type AdvisoryFacts, type StepFigures, type WholeRun } from './advisories.ts';
import { readOutages } from './outages.reader.ts';

/** Number of newest versions whose discards are read: more than the steps that rules need, because a few versions may have no step. */
const WITH_DISCARDS = 2 * RECENT;

/** The newest steps. */
const stepsSql = `
  select step, reward_mean, entropy, staleness_max, unknown_tokens, wait_ms, train_ms, trained, discarded_stale, discarded_uniform
  from (
    select step, reward_mean, entropy, staleness_max, unknown_tokens, wait_ms, train_ms, trajectories as trained
    from steps where run_id = {run:String} order by step desc limit 1 by step limit ${RECENT}
  ) as made
  left join (
    select toInt32(version + 1) as step, countIf(reason = 'stale') as discarded_stale, countIf(reason = 'uniform_group') as discarded_uniform
    from discarded_trajectories
    where run_id = {run:String} and version >= (select max(step) from steps where run_id = {run:String}) - ${WITH_DISCARDS} group by step
  ) as lost using (step)
  order by step`;

/** All steps, in windows of 20 from the first on. A window is an earlier one if it ends before the newest 20 steps. */
const wholeSql = `
  select toInt32(sum(made)) as steps, min(low) as first_from, argMin(high, part) as first_to, argMin(spread, part) as first_entropy,
    argMaxIf(low, reward, is_earlier) as best_from, argMaxIf(high, reward, is_earlier) as best_to, maxIf(reward, is_earlier) as best_reward
  from (
    select part, made, low, high, reward, spread, isFinite(reward) and oldest + ${RECENT} * (part + 2) <= newest + 1 as is_earlier
    from (
      with (select (min(step), max(step)) from steps where run_id = {run:String}) as ends
      select intDiv(step - ends.1, ${RECENT}) as part, count() as made, min(step) as low, max(step) as high, any(ends.1) as oldest,
        any(ends.2) as newest, avgIf(reward_mean, isFinite(reward_mean)) as reward, avgIf(entropy, isFinite(entropy)) as spread
      from steps where run_id = {run:String} group by part
    )
  )`;

/** Without an evaluation's own workers, which have an addressee: they do not work for the run, and they end with the evaluation. */
const beatsSql = `
  select toString(worker_id) as worker_id, toUnixTimestamp64Milli(max(occurred_at)) as at_ms, argMax(running, occurred_at) as running
  from heartbeats where run_id = {run:String} and addressee = '' group by worker_id order by at_ms desc limit 1000`;

/** The newest heartbeat of all runs follows from the parts of the table, without reading it. */
const runSql = `
  select countIf(event = 'started') > 0 and argMax(event, sequence) != 'finished' as is_running,
    toInt32(max(max_staleness)) as max_staleness, toUnixTimestamp64Milli(now64(3)) as now_ms,
    (select toUnixTimestamp64Milli(max(_timestamp)) from heartbeats) as stored_until_ms
  from run_events where run_id = {run:String}`;

interface RunClock {
  readonly is_running: number | boolean;
  readonly max_staleness: number;
  readonly now_ms: number;
  readonly stored_until_ms: number;
}

interface ReadFacts {
  readonly facts: Omit<AdvisoryFacts, 'heard_until_ms'>;
  /** The time by the clock of the store, ms since 1970. */
  readonly now_ms: number;
  /** Time of the newest heartbeat in the tables, of any run, ms since 1970; 0 if there is none. */
  readonly stored_until_ms: number;
}

const noSteps: WholeRun = {
  ...{ steps: 0, first_from: 0, first_to: 0, first_entropy: null },
  ...{ best_from: 0, best_to: 0, best_reward: null },
};

export async function readFacts(store: Store, run: string): Promise<ReadFacts> {
  const [steps, [whole = noSteps], beats, [state], ofTools] = await Promise.all([
    readRows<StepFigures>(store, stepsSql, { run }),
    readRows<WholeRun>(store, wholeSql, { run }),
    readRows<AdvisoryFacts['beats'][number]>(store, beatsSql, { run }),
    readRows<RunClock>(store, runSql, { run }),
    readOutages(store, run),
  ]);
  const figures = { run, steps, whole, beats, ...ofTools };
  return {
    facts: { ...figures, is_running: Boolean(state?.is_running), max_staleness: state?.max_staleness ?? 0 },
    now_ms: state?.now_ms ?? 0,
    stored_until_ms: state?.stored_until_ms ?? 0,
  };
}
