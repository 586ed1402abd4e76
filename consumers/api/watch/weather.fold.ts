// Calls of the tools of a run in spans of equal length, kept up to date: spans with new calls are read again. Spans become longer as the
// run does, a few times in all; then everything is read again.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import type { RowWindow } from '../row-window.ts';
import { foldedRun, type FoldSpec } from '../run-fold.ts';
import type { weatherColumns } from './watch.columns.ts';
import { widthFor } from './width.ts';

export type WeatherRow = RowOf<typeof weatherColumns>;

export interface ReadSpan extends WeatherRow {
  readonly span: number;
}

interface RunWeather {
  /** First and last second of the run. */
  low: number;
  high: number;
  /** Width of a span, s. */
  every: number;
  spans: readonly ReadSpan[];
}

/** Calls by tool and span; `turns` is the table with a condition. */
export const callsSql = (turns: string): string => `
  select toString(tool) as tool, span, toDateTime64(span * {every:UInt32}, 3, 'UTC') as at, calls, failed, ms[1] as ms_p50, ms[2] as ms_p95
  from (
    select tool, intDiv(toUnixTimestamp(occurred_at), {every:UInt32}) as span, count() as calls, countIf(tool_status != 'ok') as failed,
      quantiles(0.5, 0.95)(tool_ms) as ms
    from ${turns} and tool != '' group by tool, span
  ) order by tool, at`;

/** From attempts and heartbeats, which have far fewer rows than turns; `rows` is a table with a condition. */
const boundsSql = (rows: (table: string) => string): string => `
  select toUnixTimestamp(min(least_at)) as low, toUnixTimestamp(max(most_at)) as high
  from (
    select min(started_at) as least_at, max(finished_at) as most_at from ${rows('trajectories')} having count() > 0
    union all
    select min(occurred_at) as least_at, max(occurred_at) as most_at from ${rows('trajectory_starts')} having count() > 0
    union all
    select min(occurred_at) as least_at, max(occurred_at) as most_at from ${rows('heartbeats')} having count() > 0
  ) having count() > 0`;

export type RunBounds = Pick<RunWeather, 'low' | 'high'>;

/** First and last second of a run; undefined if it has neither attempts nor heartbeats. */
export async function readBounds(store: Store, run: string): Promise<RunBounds | undefined> {
  const [found] = await readRows<RunBounds>(
    store,
    boundsSql((table) => `${table} where run_id = {run:String}`),
    { run },
  );
  return found;
}

/** Spans with added calls. */
const touchedSql = ({ added }: RowWindow): string => `
  select distinct intDiv(toUnixTimestamp(occurred_at), {every:UInt32}) as span from ${added('turns')} and tool != ''`;

/** Turns of some spans. PREWHERE has what stays the same for half an hour, so that the engine remembers which granules are older. */
const ofSpans = (until: string): string =>
  `turns prewhere run_id = {run:String} and occurred_at >= fromUnixTimestamp64Micro({coarse:Int64})
   where ${until} and occurred_at >= fromUnixTimestamp64Micro({least:Int64}) and occurred_at < fromUnixTimestamp64Micro({most:Int64})`;
const COARSE_S = 1_800;

interface SpansOf {
  readonly store: Store;
  readonly points: number;
}

async function addCalls({ store, points }: SpansOf, state: RunWeather, window: RowWindow): Promise<boolean> {
  const [bounds] = await readRows<RunBounds>(store, boundsSql(window.added), window.params);
  const { low, high } = { low: Math.min(state.low, bounds?.low ?? Infinity), high: Math.max(state.high, bounds?.high ?? -Infinity) };
  const every = widthFor(Math.max(0, high - low), points);
  const until = window.until('turns');
  if (every !== state.every) {
    const spans = await readRows<ReadSpan>(store, callsSql(`turns where ${until}`), { ...window.params, every });
    Object.assign(state, { low, high, every, spans });
    return true;
  }
  const touched = (await readRows<{ span: number }>(store, touchedSql(window), { ...window.params, every })).map(({ span }) => span);
  const [first, last] = [Math.min(...touched), Math.max(...touched)];
  const isRead = ({ span }: ReadSpan): boolean => span >= first && span <= last;
  const micros = (seconds: number): number => seconds * 1_000_000;
  const coarse = micros(Math.floor((first * every) / COARSE_S) * COARSE_S);
  const params = { ...window.params, every, coarse, least: micros(first * every), most: micros((last + 1) * every) };
  const spans = touched.length === 0 ? [] : await readRows<ReadSpan>(store, callsSql(ofSpans(until)), params);
  Object.assign(state, { low, high, spans: [...state.spans.filter((one) => !isRead(one)), ...spans] });
  return true;
}

/** The calls of a whole run in at most `points` spans; undefined if it has neither attempts nor heartbeats. */
export async function readRunWeather(store: Store, run: string, points: number): Promise<Readonly<RunWeather> | undefined> {
  const spec: FoldSpec<RunWeather> = {
    ...{ name: `calls in ${points} spans`, run, tables: ['turns', 'trajectories', 'trajectory_starts', 'heartbeats'] },
    empty: () => ({ low: Infinity, high: -Infinity, every: 0, spans: [] }),
    add: (state, window) => addCalls({ store, points }, state, window),
  };
  const weather = await foldedRun(store, spec);
  return Number.isFinite(weather.low) ? weather : undefined;
}
