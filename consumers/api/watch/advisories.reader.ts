// Reads the figures that the advisories of a run are derived from.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import { adviseOn, type AdvisoryFacts, type StepFigures } from './advisories.ts';
import type { advisoryColumns, outageColumns } from './watch.columns.ts';
import { readWeather } from './weather.reader.ts';

/** Number of newest steps that are read, and of those with their discards: no rule needs the discards of older ones. */
const [STEPS, WITH_DISCARDS] = [2_000, 200];
const WEATHER_POINTS = 240;

const stepsSql = `
  select step, reward_mean, entropy, staleness_max, unknown_tokens, wait_ms, train_ms, trained, discarded_stale, discarded_uniform
  from (
    select step, reward_mean, entropy, staleness_max, unknown_tokens, wait_ms, train_ms, trajectories as trained
    from steps where run_id = {run:String} order by step desc limit 1 by step limit ${STEPS}
  ) as made
  left join (
    select toInt32(version + 1) as step, countIf(reason = 'stale') as discarded_stale, countIf(reason = 'uniform_group') as discarded_uniform
    from discarded_trajectories
    where run_id = {run:String} and version >= (select max(step) from steps where run_id = {run:String}) - ${WITH_DISCARDS} group by step
  ) as lost using (step)
  order by step`;

const beatsSql = `
  select toString(worker_id) as worker_id, toUnixTimestamp64Milli(max(occurred_at)) as at_ms, argMax(running, occurred_at) as running
  from heartbeats where run_id = {run:String} group by worker_id order by at_ms desc limit 1000`;

const runSql = `
  select countIf(event = 'started') > 0 and countIf(event = 'finished') = 0 as is_running, toInt32(max(max_staleness)) as max_staleness
  from run_events where run_id = {run:String}`;

export async function readAdvisories(
  store: Store,
  run: string,
): Promise<{
  readonly run_id: string;
  readonly items: readonly RowOf<typeof advisoryColumns>[];
  readonly outages: readonly RowOf<typeof outageColumns>[];
}> {
  const [steps, beats, [state], weather] = await Promise.all([
    readRows<StepFigures>(store, stepsSql, { run }),
    readRows<AdvisoryFacts['beats'][number]>(store, beatsSql, { run }),
    readRows<{ is_running: number | boolean; max_staleness: number }>(store, runSql, { run }),
    readWeather(store, run, { points: WEATHER_POINTS }),
  ]);
  const facts = { run, steps, beats, outages: weather.outages, max_staleness: state?.max_staleness ?? 0 };
  return { run_id: run, items: adviseOn({ ...facts, is_running: Boolean(state?.is_running) }), outages: weather.outages };
}
