// Computes the merged flow of a run with one statement over all of its rows, as the reference for the result of `readMergedFlow`.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { OF_PURPOSE } from '../of-purpose.ts';
import { NO_VERSION } from './flow-merged.fold.ts';
import { columnsOfSpans, type MergedFlow, type MergedSpan } from './flow-merged.reader.ts';
import { widthFor } from './width.ts';

/** All attempts without duplicates, with start and end; the end is 0 for one that has only started. */
const attemptsSql = `
  select trajectory_id, attempt, toInt64(toUnixTimestamp(started_at)) as start_s, toInt64(toUnixTimestamp(finished_at)) as end_s, version_first
  from trajectories where run_id = {run:String} and ${OF_PURPOSE} limit 1 by trajectory_id, attempt
  union all
  select trajectory_id, attempt, toInt64(toUnixTimestamp(occurred_at)) as start_s, toInt64(0) as end_s, toInt32(-1) as version_first
  from trajectory_starts where run_id = {run:String} and ${OF_PURPOSE}
    and (trajectory_id, attempt) not in (select trajectory_id, attempt from trajectories where run_id = {run:String})
  limit 1 by trajectory_id, attempt`;

/**
 * The fate of each attempt in the ledger: `trained` takes precedence over `collected`, that over `discarded`, and all of them over `lost`.
 * Trajectories of a step that a rewind abandoned are discarded.
 */
const decidedSql = `
  select trajectory_id, attempt, 1 as is_decided, min(told) as rank, max(told_staleness) as staleness, max(told_s) as decided_s from (
    select trajectory_id, attempt, if(step in (select version from abandoned_versions where run_id = {run:String}), 2, 0) as told,
      if(told = 0, staleness_total, toInt32(-1)) as told_staleness, toInt64(0) as told_s
    from step_trajectories where run_id = {run:String}
    union all
    select trajectory_id, attempt, 1 as told, toInt32(-1) as told_staleness, toInt64(0) as told_s
    from collected_trajectories where run_id = {run:String}
    union all
    select trajectory_id, attempt, 2 as told, toInt32(-1) as told_staleness, toInt64(0) as told_s
    from discarded_trajectories where run_id = {run:String}
    union all
    select trajectory_id, attempt, 3 as told, toInt32(-1) as told_staleness, toInt64(toUnixTimestamp(at)) as told_s
    from expired_attempts where run_id = {run:String}
  ) group by trajectory_id, attempt`;

/** An attempt counts as begun in the span of its start, and as ended in that of its end. */
const mergedSql = `
  select span, toUInt32(sum(begins)) as began, toUInt32(sum(ends)) as ended, toUInt32(sum(begins and fate = 0)) as trained,
    toUInt32(sum(begins and fate = 1)) as collected, toUInt32(sum(begins and fate = 2)) as discarded,
    toUInt32(sum(begins and fate = 3)) as lost,
    max(if(begins and fate = 0, staleness, -1)) as staleness_max, min(if(begins and version_first >= 0, version_first, ${NO_VERSION})) as oldest
  from (
    select toInt32(least(intDiv(point.1 - {first:Int64}, {every:Int64}), {last:Int64})) as span, point.2 = 1 as begins, point.2 = 0 as ends,
      fate, staleness, version_first
    from (
      select start_s, if(end_s > 0, end_s, decided_s) as stop_s, version_first, if(is_decided = 1, toInt32(rank), 4) as fate, staleness
      from (${attemptsSql}) as attempts
      left join (${decidedSql}) as decided using (trajectory_id, attempt)
    ) array join if(stop_s > 0, [(start_s, 1), (stop_s, 0)], [(start_s, 1)]) as point
  ) group by span order by span`;

/** Reads the merged flow from all rows. */
export async function mergedFlowOf(
  store: Store,
  run: string,
  { points, purpose = '' }: { readonly points: number; readonly purpose?: string | undefined },
): Promise<MergedFlow> {
  const [bounds] = await readRows<{ first: number; last: number; trajectories: number }>(
    store,
    `select min(start_s) as first, max(greatest(start_s, end_s)) as last, toUInt32(count()) as trajectories from (${attemptsSql})`,
    { run, purpose },
  );
  const { first = 0, last = 0, trajectories = 0 } = bounds ?? {};
  const every = widthFor(Math.max(1, last - first), points);
  const params = { run, purpose, first, every, last: Math.floor((last - first) / every) };
  const spans = trajectories === 0 ? [] : await readRows<MergedSpan>(store, mergedSql, params);
  const columns = columnsOfSpans(spans);
  return { run_id: run, trajectories, every_s: every, at_ms: columns.trained.map((_, at) => (first + at * every) * 1_000), columns };
}
