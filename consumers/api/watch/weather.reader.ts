// Tools over time: calls, failures, and latencies in spans of equal length, and outages.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import { MOST_INT32 } from '../values.ts';
import type { outageColumns } from './watch.columns.ts';
import { callsSql, readBounds, readRunWeather, type ReadSpan, type RunBounds, type WeatherRow } from './weather.fold.ts';
import { widthFor } from './width.ts';

type OutageRow = RowOf<typeof outageColumns>;

export interface WeatherReport {
  readonly run_id: string;
  /** Width of a span, s. */
  readonly every_s: number;
  readonly items: readonly WeatherRow[];
  readonly outages: readonly OutageRow[];
}

interface WeatherQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly points: number;
}

const MOST_TOOLS = 20;

const time = (name: string): string => `parseDateTime64BestEffort({${name}:String}, 6, 'UTC')`;

const clamp = ({ low, high }: RunBounds, from: string | undefined, to: string | undefined): RunBounds => ({
  low: from === undefined ? low : Math.max(low, Date.parse(from) / 1_000),
  high: to === undefined ? high : Math.min(high, Date.parse(to) / 1_000),
});

/** The spans of the most used tools, in order. */
function weatherOf(rows: readonly ReadSpan[]): readonly WeatherRow[] {
  const called = new Map<string, number>();
  for (const { tool, calls } of rows) called.set(tool, (called.get(tool) ?? 0) + calls);
  const most = [...called].sort(([, a], [, b]) => b - a).slice(0, MOST_TOOLS);
  const tools = new Set(most.map(([tool]) => tool));
  return rows
    .filter(({ tool }) => tools.has(tool))
    .sort((a, b) => (a.tool === b.tool ? a.span - b.span : a.tool < b.tool ? -1 : 1))
    .map(({ span: _span, ...row }) => row);
}

/** Reads only the turns of a range. */
async function readRange(store: Store, run: string, { from, to, points }: WeatherQuery): Promise<WeatherSpans | undefined> {
  const turns = [
    'turns where run_id = {run:String}',
    ...(from === undefined ? [] : [`occurred_at >= ${time('from')}`]),
    ...(to === undefined ? [] : [`occurred_at <= ${time('to')}`]),
  ].join(' and ');
  const bounds = await readBounds(store, run);
  if (bounds === undefined) return undefined;
  const { low, high } = clamp(bounds, from, to);
  const every = widthFor(Math.max(0, high - low), points);
  const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  return { every, spans: await readRows<ReadSpan>(store, callsSql(turns), { run, every, ...range }) };
}

interface WeatherSpans {
  readonly every: number;
  readonly spans: readonly ReadSpan[];
}

export async function readWeather(store: Store, run: string, query: WeatherQuery): Promise<WeatherReport> {
  const isWhole = query.from === undefined && query.to === undefined;
  const found = await (isWhole ? readRunWeather(store, run, query.points) : readRange(store, run, query));
  if (found === undefined) return { run_id: run, every_s: 1, items: [], outages: [] };
  const items = weatherOf(found.spans);
  const outages = outagesIn(items, found.every);
  return { run_id: run, every_s: items.length === 0 ? 1 : found.every, items, outages: await withSteps(store, run, outages) };
}

/** Greater than every step. */
const NO_STEP = MOST_INT32;
const FEWEST_CALLS = 4;
const LEAST_RATE = 0.3;
/** With this rate, a tool is out, however often its calls usually fail. */
const CERTAIN_RATE = 0.5;
const TIMES_USUAL = 3;

type FoundOutage = Omit<OutageRow, 'from_step' | 'to_step'>;

/**
 * A tool has an outage while at least 30 % of its calls fail, and three times as many as usual or half of them; with fewer than
 * `FEWEST_CALLS` calls, that is not certain. Usual is the lower quartile of the spans. A long outage raises it, but a tool of which half of
 * the calls fail is out nevertheless.
 */
export function outagesIn(items: readonly WeatherRow[], everySeconds: number): readonly FoundOutage[] {
  const outages: FoundOutage[] = [];
  for (const tool of new Set(items.map((item) => item.tool))) {
    const spans = items.filter((item) => item.tool === tool && item.at !== null);
    const usual = lowerQuartile(spans.map(({ calls, failed }) => failed / calls));
    const least = Math.min(CERTAIN_RATE, Math.max(LEAST_RATE, usual * TIMES_USUAL));
    let open: FoundOutage | undefined;
    let last = 0;
    const close = (): void => {
      if (open !== undefined && open.calls >= FEWEST_CALLS) outages.push(open);
      open = undefined;
    };
    for (const { at, calls, failed } of spans) {
      const begins = Date.parse(at ?? '');
      if (failed / calls < least || (open !== undefined && begins - last > everySeconds * 2_000)) close();
      if (failed / calls >= least) {
        const to = new Date(begins + everySeconds * 1_000).toISOString();
        const before = open ?? { tool, from: at, to, calls: 0, failed: 0, usual_failure_rate: usual };
        open = { ...before, to, calls: before.calls + calls, failed: before.failed + failed };
        last = begins;
      }
    }
    close();
  }
  return outages;
}

function lowerQuartile(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 4)] ?? 0;
}

/** The steps made during each outage, so that it can be drawn in the curves. */
async function withSteps(store: Store, run: string, outages: readonly FoundOutage[]): Promise<readonly OutageRow[]> {
  if (outages.length === 0) return [];
  const [made] = await readRows<{ readonly firsts: readonly number[]; readonly lasts: readonly number[] }>(
    store,
    `select minForEach(arrayMap(since -> if(at_ms >= since, step, ${NO_STEP}), {from:Array(Int64)})) as firsts,
       maxForEach(arrayMap(until -> if(at_ms <= until, step, toInt32(-1)), {to:Array(Int64)})) as lasts
     from (select step, toUnixTimestamp64Milli(min(at)) as at_ms from steps where run_id = {run:String} group by step)`,
    { run, from: outages.map(({ from }) => Date.parse(from ?? '')), to: outages.map(({ to }) => Date.parse(to ?? '')) },
  );
  return outages.map((outage, index) => {
    const [first = NO_STEP, last = -1] = [made?.firsts[index], made?.lasts[index]];
    const from_step = first === NO_STEP ? -1 : first;
    return { ...outage, from_step, to_step: Math.max(from_step, last) };
  });
}
