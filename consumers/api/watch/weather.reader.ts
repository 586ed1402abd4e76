// Tools over time: calls, failures, and latencies in spans of equal length, and outages.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { ofMostUsed } from './most-used.ts';
import type { OutageRow } from './outages.ts';
import { readOutages } from './outages.reader.ts';
import { callsSql, readBounds, readRunWeather, type ReadSpan, type RunBounds, type WeatherRow } from './weather.fold.ts';
import { widthFor } from './width.ts';

interface WeatherReport {
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

const time = (name: string): string => `parseDateTime64BestEffort({${name}:String}, 6, 'UTC')`;

const clamp = ({ low, high }: RunBounds, from: string | undefined, to: string | undefined): RunBounds => ({
  low: from === undefined ? low : Math.max(low, Date.parse(from) / 1_000),
  high: to === undefined ? high : Math.min(high, Date.parse(to) / 1_000),
});

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

/** Whether any part of an outage is in the range. */
const isIn = (outage: OutageRow, { from, to }: WeatherQuery): boolean =>
  (from === undefined || Date.parse(outage.to ?? '') > Date.parse(from)) &&
  (to === undefined || Date.parse(outage.from ?? '') <= Date.parse(to));

/** The number of points only affects what is drawn: the outages are those of the whole run. */
export async function readWeather(store: Store, run: string, query: WeatherQuery): Promise<WeatherReport> {
  const isWhole = query.from === undefined && query.to === undefined;
  const reading = isWhole ? readRunWeather(store, run, query.points) : readRange(store, run, query);
  const [found, { outages }] = await Promise.all([reading, readOutages(store, run)]);
  if (found === undefined) return { run_id: run, every_s: 1, items: [], outages: [] };
  const items = ofMostUsed(found.spans).map(({ span: _span, ...row }) => row);
  return { run_id: run, every_s: items.length === 0 ? 1 : found.every, items, outages: outages.filter((one) => isIn(one, query)) };
}
