// The "weather" of a run: its tool calls in time spans of equal length, kept up to date. Only spans that may have new calls are read again.
// As the run gets longer, the spans are widened a few times; each time, everything is read again.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import type { RowWindow } from '../row-window.ts';
import { foldedRun, type FoldSpec } from '../run-fold.ts';
import type { SpanCalls } from './outages.ts';
import type { weatherColumns } from './watch.columns.ts';
import { widthFor } from './width.ts';

export type WeatherRow = RowOf<typeof weatherColumns>;

export interface ReadSpan extends WeatherRow {
  readonly span: number;
}

/** A span without latencies. */
interface CountedSpan extends SpanCalls {
  readonly span: number;
}

interface RunSpans<S> {
  /** First and last second of the run. */
  low: number;
  high: number;
  /** Width of a span, s. */
  every: number;
  spans: readonly S[];
}

/** Selects figures of each tool and span. `turns` is the table with its WHERE clause, to which a condition is added. */
const spansSql = (turns: string, { shown, read }: { readonly shown: string; readonly read: string }): string => `
  select toString(tool) as tool, span, toDateTime64(span * {every:UInt32}, 3, 'UTC') as at, calls, failed${shown}
  from (
    select tool, intDiv(toUnixTimestamp(occurred_at), {every:UInt32}) as span, count() as calls, countIf(tool_status != 'ok') as failed
      ${read}
    from ${turns} and tool != '' group by tool, span
  ) order by tool, at`;

export const callsSql = (turns: string): string =>
  spansSql(turns, { shown: ', ms[1] as ms_p50, ms[2] as ms_p95', read: ', quantiles(0.5, 0.95)(tool_ms) as ms' });

export const countsSql = (turns: string): string => spansSql(turns, { shown: '', read: '' });

/** Computed from attempts and heartbeats, which have far fewer rows than turns. `rows` returns a table with its WHERE clause. */
const boundsSql = (rows: (table: string) => string): string => `
  select toUnixTimestamp(min(least_at)) as low, toUnixTimestamp(max(most_at)) as high
  from (
    select min(started_at) as least_at, max(finished_at) as most_at from ${rows('trajectories')} having count() > 0
    union all
    select min(occurred_at) as least_at, max(occurred_at) as most_at from ${rows('trajectory_starts')} having count() > 0
    union all
    select min(occurred_at) as least_at, max(occurred_at) as most_at from ${rows('heartbeats')} having count() > 0
  ) having count() > 0`;

export type RunBounds = Pick<RunSpans<never>, 'low' | 'high'>;

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

/** Turns of some spans. PREWHERE changes only every half hour, so that ClickHouse can cache which granules have only older turns. */
const ofSpans = (until: string): string =>
  `turns prewhere run_id = {run:String} and occurred_at >= fromUnixTimestamp64Micro({coarse:Int64})
   where ${until} and occurred_at >= fromUnixTimestamp64Micro({least:Int64}) and occurred_at < fromUnixTimestamp64Micro({most:Int64})`;
const COARSE_S = 1_800;

interface SpansOf {
  readonly store: Store;
  readonly sql: (turns: string) => string;
  /** Width of the spans of a run of this length, s. */
  readonly widthOf: (seconds: number) => number;
}

async function addCalls<S extends CountedSpan>({ store, sql, widthOf }: SpansOf, state: RunSpans<S>, window: RowWindow): Promise<boolean> {
  const [bounds] = await readRows<RunBounds>(store, boundsSql(window.added), window.params);
  const { low, high } = { low: Math.min(state.low, bounds?.low ?? Infinity), high: Math.max(state.high, bounds?.high ?? -Infinity) };
  const every = widthOf(Math.max(0, high - low));
  const until = window.until('turns');
  if (every !== state.every) {
    const spans = await readRows<S>(store, sql(`turns where ${until}`), { ...window.params, every });
    Object.assign(state, { low, high, every, spans });
    return true;
  }
  const touched = (await readRows<{ span: number }>(store, touchedSql(window), { ...window.params, every })).map(({ span }) => span);
  const [first, last] = [Math.min(...touched), Math.max(...touched)];
  const isRead = ({ span }: S): boolean => span >= first && span <= last;
  const micros = (seconds: number): number => seconds * 1_000_000;
  const coarse = micros(Math.floor((first * every) / COARSE_S) * COARSE_S);
  const params = { ...window.params, every, coarse, least: micros(first * every), most: micros((last + 1) * every) };
  const spans = touched.length === 0 ? [] : await readRows<S>(store, sql(ofSpans(until)), params);
  Object.assign(state, { low, high, spans: [...state.spans.filter((one) => !isRead(one)), ...spans] });
  return true;
}

/** Undefined if the run has neither attempts nor heartbeats. */
async function readSpans<S extends CountedSpan>(of: SpansOf, run: string, name: string): Promise<Readonly<RunSpans<S>> | undefined> {
  const spec: FoldSpec<RunSpans<S>> = {
    ...{ name, run, tables: ['turns', 'trajectories', 'trajectory_starts', 'heartbeats'] },
    empty: () => ({ low: Infinity, high: -Infinity, every: 0, spans: [] }),
    add: (state, window) => addCalls(of, state, window),
  };
  const found = await foldedRun(of.store, spec);
  return Number.isFinite(found.low) ? found : undefined;
}

/** The tool calls of a whole run in at most `points` spans, or one more, because spans begin at multiples of their width. */
export const readRunWeather = (store: Store, run: string, points: number): Promise<Readonly<RunSpans<ReadSpan>> | undefined> =>
  readSpans<ReadSpan>({ store, sql: callsSql, widthOf: (seconds) => widthFor(seconds, points) }, run, `calls in ${points} spans`);

/** Width of the spans in which outages are found, s; for runs of more than about two weeks, spans are wider. */
const COUNTED_S = 60;
const MOST_COUNTED = 20_000;

/** The numbers of calls of a whole run in short spans. */
export const readRunCounts = (store: Store, run: string): Promise<Readonly<RunSpans<CountedSpan>> | undefined> =>
  readSpans<CountedSpan>(
    { store, sql: countsSql, widthOf: (seconds) => Math.max(COUNTED_S, widthFor(seconds, MOST_COUNTED)) },
    run,
    'counted calls',
  );
