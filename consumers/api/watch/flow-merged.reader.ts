// The flow of a run with any number of trajectories: attempts are aggregated into spans of equal length and counted by their fate.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { widthFor } from './weather.reader.ts';

const mergedFates = ['trained', 'discarded', 'lost', 'open'] as const;
/** Per span: attempts that started in it by fate, attempts in flight at its end, and the worst staleness of its trained ones. */
export const mergedFigures = [...mergedFates, 'running', 'staleness_max', 'version_first'] as const;

interface MergedSpan {
  readonly span: number;
  readonly trained: number;
  readonly discarded: number;
  readonly lost: number;
  readonly began: number;
  readonly ended: number;
  readonly staleness_max: number;
  readonly oldest: number;
}

export interface MergedFlow {
  readonly run_id: string;
  readonly trajectories: number;
  readonly every_s: number;
  /** Start of each span, ms since 1970. */
  readonly at_ms: readonly number[];
  readonly columns: Readonly<Record<(typeof mergedFigures)[number], readonly number[]>>;
}

/** Greater than every version. */
const NO_VERSION = 2_147_483_647;
const OF_PURPOSE = "if({purpose:String} = '', purpose != 'eval', purpose = {purpose:String})";

/** All attempts without duplicates, with start and end; the end is 0 for one that has only started. */
const attemptsSql = `
  select trajectory_id, attempt, toInt64(toUnixTimestamp(started_at)) as start_s, toInt64(toUnixTimestamp(finished_at)) as end_s, version_first
  from trajectories where run_id = {run:String} and ${OF_PURPOSE} limit 1 by trajectory_id, attempt
  union all
  select trajectory_id, attempt, toInt64(toUnixTimestamp(occurred_at)) as start_s, toInt64(0) as end_s, toInt32(-1) as version_first
  from trajectory_starts where run_id = {run:String} and ${OF_PURPOSE}
    and (trajectory_id, attempt) not in (select trajectory_id, attempt from trajectories where run_id = {run:String})
  limit 1 by trajectory_id, attempt`;

/** The fate of each attempt in the ledger: a decision takes precedence over a loss, and training over a discard. */
const decidedSql = `
  select trajectory_id, attempt, 1 as is_decided, min(told) as rank, max(told_staleness) as staleness, max(told_s) as decided_s from (
    select trajectory_id, attempt, 0 as told, staleness_total as told_staleness, toInt64(0) as told_s
    from step_trajectories where run_id = {run:String}
    union all
    select trajectory_id, attempt, 1 as told, toInt32(-1) as told_staleness, toInt64(0) as told_s
    from discarded_trajectories where run_id = {run:String}
    union all
    select trajectory_id, attempt, 2 as told, toInt32(-1) as told_staleness, toInt64(toUnixTimestamp(at)) as told_s
    from expired_attempts where run_id = {run:String}
  ) group by trajectory_id, attempt`;

/** An attempt counts in the span of its start and in that of its end. */
const mergedSql = `
  select span, toUInt32(sum(begins)) as began, toUInt32(sum(ends)) as ended, toUInt32(sum(begins and fate = 0)) as trained,
    toUInt32(sum(begins and fate = 1)) as discarded, toUInt32(sum(begins and fate = 2)) as lost,
    max(if(begins and fate = 0, staleness, -1)) as staleness_max, min(if(begins and version_first >= 0, version_first, ${NO_VERSION})) as oldest
  from (
    select toInt32(least(intDiv(point.1 - {first:Int64}, {every:Int64}), {last:Int64})) as span, point.2 = 1 as begins, point.2 = 0 as ends,
      fate, staleness, version_first
    from (
      select start_s, if(end_s > 0, end_s, decided_s) as stop_s, version_first, if(is_decided = 1, toInt32(rank), 3) as fate, staleness
      from (${attemptsSql}) as attempts
      left join (${decidedSql}) as decided using (trajectory_id, attempt)
    ) array join if(stop_s > 0, [(start_s, 1), (stop_s, 0)], [(start_s, 1)]) as point
  ) group by span order by span`;

const emptySpan = { trained: 0, discarded: 0, lost: 0, began: 0, ended: 0, staleness_max: -1, oldest: NO_VERSION };

/** Spans without events are included, so that charts have no gaps. */
export function columnsOfSpans(spans: readonly MergedSpan[]): MergedFlow['columns'] {
  const count = (spans.at(-1)?.span ?? -1) + 1;
  const columns = Object.fromEntries(mergedFigures.map((name) => [name, new Array<number>(count).fill(0)])) as Record<
    (typeof mergedFigures)[number],
    number[]
  >;
  const bySpan = new Map(spans.map((one) => [one.span, one]));
  let running = 0;
  for (let at = 0; at < count; at += 1) {
    const span = bySpan.get(at) ?? { ...emptySpan, span: at };
    running += span.began - span.ended;
    const open = span.began - span.trained - span.discarded - span.lost;
    const version_first = span.oldest === NO_VERSION ? -1 : span.oldest;
    const row: Readonly<Record<string, number>> = { ...span, open, running, version_first };
    for (const name of mergedFigures) columns[name][at] = row[name] ?? 0;
  }
  return columns;
}

export async function readMergedFlow(
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
