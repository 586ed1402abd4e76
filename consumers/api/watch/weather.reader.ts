// Tools over time: calls, failures, and latencies in equal spans, and the spans in which a tool was out.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import type { outageColumns, weatherColumns } from './watch.columns.ts';

type Span = RowOf<typeof weatherColumns>;
type Outage = RowOf<typeof outageColumns>;

export interface Weather {
  readonly run_id: string;
  /** Width of a span, s. */
  readonly every_s: number;
  readonly items: readonly Span[];
  readonly outages: readonly Outage[];
}

interface WeatherQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly points: number;
}

/** Widths that people read: the least of them that leaves at most `points` spans. */
const WIDTHS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 43_200, 86_400] as const;
const MOST_TOOLS = 20;

export const widthFor = (seconds: number, points: number): number =>
  WIDTHS.find((width) => seconds / width < points) ?? Math.ceil(seconds / points / 86_400) * 86_400;

const time = (name: string): string => `parseDateTime64BestEffort({${name}:String}, 6, 'UTC')`;

export async function readWeather(store: Store, run: string, { from, to, points }: WeatherQuery): Promise<Weather> {
  const range = [
    ...(from === undefined ? [] : [`occurred_at >= ${time('from')}`]),
    ...(to === undefined ? [] : [`occurred_at <= ${time('to')}`]),
  ];
  const calls = `from turns where ${["run_id = {run:String} and tool != ''", ...range].join(' and ')}`;
  const params = { run, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const [ends] = await readRows<{ low: number; high: number }>(
    store,
    `select toUnixTimestamp(min(occurred_at)) as low, toUnixTimestamp(max(occurred_at)) as high ${calls} having count() > 0`,
    params,
  );
  if (ends === undefined) return { run_id: run, every_s: 1, items: [], outages: [] };
  const every = widthFor(ends.high - ends.low, points);
  const items = await readRows<Span>(
    store,
    `select toString(tool) as tool, toDateTime64(intDiv(toUnixTimestamp(occurred_at), {every:UInt32}) * {every:UInt32}, 3, 'UTC') as at,
       count() as calls, countIf(tool_status != 'ok') as failed, quantile(0.5)(tool_ms) as ms_p50, quantile(0.95)(tool_ms) as ms_p95
     ${calls} and tool in (select tool from turns where run_id = {run:String} and tool != '' group by tool order by count() desc limit ${MOST_TOOLS})
     group by tool, at order by tool, at`,
    { ...params, every },
  );
  const outages = outagesIn(items, every);
  return { run_id: run, every_s: every, items, outages: await withSteps(store, run, outages) };
}

const FEWEST_CALLS = 4;
const LEAST_RATE = 0.3;
const TIMES_USUAL = 3;

type Found = Omit<Outage, 'from_step' | 'to_step'>;

/**
 * A tool is out while at least 30 % of its calls fail and at least three times as many as usual, in two spans in a row or in one
 * with enough calls to be sure. What is usual is the median over the spans, so that a long outage does not become usual.
 */
export function outagesIn(items: readonly Span[], everySeconds: number): readonly Found[] {
  const outages: Found[] = [];
  for (const tool of new Set(items.map((item) => item.tool))) {
    const spans = items.filter((item) => item.tool === tool && item.at !== null);
    const usual = median(spans.map(({ calls, failed }) => failed / calls));
    const least = Math.max(LEAST_RATE, usual * TIMES_USUAL);
    let open: Found | undefined;
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

/** Steps that were made while a tool was out, so that it can be drawn over curves. */
async function withSteps(store: Store, run: string, outages: readonly Found[]): Promise<readonly Outage[]> {
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
