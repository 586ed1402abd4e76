// Tools over time: calls, failures, and latencies in spans of equal length, and outages.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import type { outageColumns, weatherColumns } from './watch.columns.ts';

type WeatherRow = RowOf<typeof weatherColumns>;
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
  /** If false, latencies are 0. */
  readonly latencies?: boolean;
}

/** Round widths of a span; the smallest that gives at most `points` spans is used. */
const WIDTHS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 43_200, 86_400] as const;
const MOST_TOOLS = 20;

export const widthFor = (seconds: number, points: number): number =>
  WIDTHS.find((width) => seconds / width < points) ?? Math.ceil(seconds / points / 86_400) * 86_400;

const time = (name: string): string => `parseDateTime64BestEffort({${name}:String}, 6, 'UTC')`;

/** First and last second of the run, from attempts and heartbeats, which have far fewer rows than turns. */
const spanSql = `
  select toUnixTimestamp(min(low)) as low, toUnixTimestamp(max(high)) as high
  from (
    select min(started_at) as low, max(finished_at) as high from trajectories where run_id = {run:String} having count() > 0
    union all
    select min(occurred_at) as low, max(occurred_at) as high from trajectory_starts where run_id = {run:String} having count() > 0
    union all
    select min(occurred_at) as low, max(occurred_at) as high from heartbeats where run_id = {run:String} having count() > 0
  ) having count() > 0`;

interface Span {
  readonly low: number;
  readonly high: number;
}

const clamp = ({ low, high }: Span, from: string | undefined, to: string | undefined): Span => ({
  low: from === undefined ? low : Math.max(low, Date.parse(from) / 1_000),
  high: to === undefined ? high : Math.min(high, Date.parse(to) / 1_000),
});

/** Calls by tool and span. Latencies are most of the work, so they can be left out. */
async function readCalls(
  store: Store,
  params: Readonly<Record<string, string | number>>,
  { where, latencies }: { readonly where: string; readonly latencies: boolean },
): Promise<readonly WeatherRow[]> {
  const quantiles = latencies ? 'quantiles(0.5, 0.95)(tool_ms)' : '[toFloat64(0), toFloat64(0)]';
  const rows = await readRows<Omit<WeatherRow, 'ms_p50' | 'ms_p95'> & { readonly ms: readonly [number, number] }>(
    store,
    `select toString(tool) as tool, toDateTime64(span * {every:UInt32}, 3, 'UTC') as at, calls, failed, ms
     from (
       select tool, intDiv(toUnixTimestamp(occurred_at), {every:UInt32}) as span, count() as calls, countIf(tool_status != 'ok') as failed, ${quantiles} as ms
       from turns where ${where} group by tool, span
     ) order by tool, at`,
    params,
  );
  const called = new Map<string, number>();
  for (const { tool, calls } of rows) called.set(tool, (called.get(tool) ?? 0) + calls);
  const most = new Set(
    [...called]
      .sort(([, a], [, b]) => b - a)
      .slice(0, MOST_TOOLS)
      .map(([tool]) => tool),
  );
  return rows.filter(({ tool }) => most.has(tool)).map(({ ms: [ms_p50, ms_p95], ...row }) => ({ ...row, ms_p50, ms_p95 }));
}

export async function readWeather(store: Store, run: string, { from, to, points, latencies = true }: WeatherQuery): Promise<WeatherReport> {
  const where = [
    "run_id = {run:String} and tool != ''",
    ...(from === undefined ? [] : [`occurred_at >= ${time('from')}`]),
    ...(to === undefined ? [] : [`occurred_at <= ${time('to')}`]),
  ].join(' and ');
  const params = { run, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const [found] = await readRows<Span>(store, spanSql, { run });
  if (found === undefined) return { run_id: run, every_s: 1, items: [], outages: [] };
  const { low, high } = clamp(found, from, to);
  const every = widthFor(Math.max(0, high - low), points);
  const items = await readCalls(store, { ...params, every }, { where, latencies });
  const outages = outagesIn(items, every);
  return { run_id: run, every_s: items.length === 0 ? 1 : every, items, outages: await withSteps(store, run, outages) };
}

const FEWEST_CALLS = 4;
const LEAST_RATE = 0.3;
const TIMES_USUAL = 3;

type FoundOutage = Omit<OutageRow, 'from_step' | 'to_step'>;

/**
 * A tool has an outage while at least 30 % of its calls fail, and at least three times as many as usual, in two spans in a row or in one
 * with enough calls to be certain. Usual is the median over the spans, so that a long outage does not become usual.
 */
export function outagesIn(items: readonly WeatherRow[], everySeconds: number): readonly FoundOutage[] {
  const outages: FoundOutage[] = [];
  for (const tool of new Set(items.map((item) => item.tool))) {
    const spans = items.filter((item) => item.tool === tool && item.at !== null);
    const usual = median(spans.map(({ calls, failed }) => failed / calls));
    const least = Math.max(LEAST_RATE, usual * TIMES_USUAL);
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

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

/** The steps made during an outage, so that it can be drawn in the curves. */
async function withSteps(store: Store, run: string, outages: readonly FoundOutage[]): Promise<readonly OutageRow[]> {
  if (outages.length === 0) return [];
  const steps = await readRows<{ step: number; at_ms: number }>(
    store,
    'select step, toUnixTimestamp64Milli(min(at)) as at_ms from steps where run_id = {run:String} group by step order by step',
    { run },
  );
  return outages.map((outage) => {
    const [from, to] = [Date.parse(outage.from ?? ''), Date.parse(outage.to ?? '')];
    const first = steps.find(({ at_ms }) => at_ms >= from)?.step ?? -1;
    const last = steps.findLast(({ at_ms }) => at_ms <= to)?.step ?? -1;
    return { ...outage, from_step: first, to_step: Math.max(first, last) };
  });
}
