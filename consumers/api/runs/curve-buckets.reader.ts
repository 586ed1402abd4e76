// Curves in buckets of steps: least, most, and last value of each series in each bucket, so that no spike is lost however long
// the run is. A bucket of one step is that step. Figures of steps that the warehouse has not come to are made here.
import { STEPS_OF_RANGE } from '../../common/step-figures.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { isFigure, isLoss, makeOthers, readLosses, seriesNames, type StepPoint, type CurveRange } from './curves.reader.ts';

interface BucketsQuery {
  readonly from_step?: number | undefined;
  readonly to_step?: number | undefined;
  readonly series?: readonly string[] | undefined;
  readonly points: number;
}

type SeriesValues = readonly unknown[];

export interface BucketCurves {
  readonly run_id: string;
  /** Steps of a bucket. */
  readonly every: number;
  /** Last step of each bucket. */
  readonly steps: readonly number[];
  readonly first_steps: readonly number[];
  /** Value at the last step of each bucket that has one. */
  readonly series: Readonly<Record<string, SeriesValues>>;
  readonly low: Readonly<Record<string, SeriesValues>>;
  readonly high: Readonly<Record<string, SeriesValues>>;
}

interface BucketSpread {
  readonly low: number | null;
  readonly high: number | null;
  /** Step of `last`. */
  readonly step: number;
  readonly last: unknown;
}

interface Bucket {
  readonly first: number;
  readonly last: number;
  readonly spreads: Map<string, BucketSpread>;
}

interface Slices extends CurveRange {
  readonly start: number;
  readonly width: number;
}

export async function readBuckets(store: Store, run: string, query: BucketsQuery): Promise<BucketCurves> {
  const names = query.series === undefined ? seriesNames : seriesNames.filter((name) => query.series?.includes(name));
  const range: CurveRange = { run, from_step: query.from_step ?? 0, to_step: query.to_step ?? 2_147_483_647 };
  const [span] = await readRows<{ low: number; high: number }>(
    store,
    `select min(step) as low, max(step) as high from steps where ${STEPS_OF_RANGE} having count() > 0`,
    { ...range },
  );
  if (span === undefined) return { run_id: run, every: 1, steps: [], first_steps: [], series: {}, low: {}, high: {} };
  const width = Math.max(1, Math.ceil((span.high - span.low + 1) / query.points));
  const slices: Slices = { ...range, start: Math.floor(span.low / width) * width, width };
  const [made, kept, lost, others] = await Promise.all([
    readSlices(store, slices, { table: 'steps', names: names.filter((name) => !isFigure(name) && !isLoss(name)) }),
    readSlices(store, slices, { table: 'step_figures', names: names.filter(isFigure) }),
    names.some(isLoss) ? readLosses(store, range) : new Map<number, StepPoint>(),
    names.some(isFigure) ? readOthers(store, range) : new Map<number, StepPoint>(),
  ]);
  merge(made, kept);
  addPoints(made, slices, { points: [...others.values()], names: names.filter(isFigure) });
  addPoints(made, slices, { points: withoutLosses(made, lost), names: names.filter(isLoss) });
  return answerOf(run, width, { names, buckets: [...made.values()] });
}

/** Least, most, and last of each series in each bucket, in one pass over the columns that are asked for. */
async function readSlices(
  store: Store,
  slices: Slices,
  { table, names }: { readonly table: string; readonly names: readonly string[] },
): Promise<Map<number, Bucket>> {
  if (table !== 'steps' && names.length === 0) return new Map();
  const columns = names.map((name) =>
    name === 'at'
      ? `tuple(cast(null, 'Nullable(Float64)'), cast(null, 'Nullable(Float64)'), max(step), argMax(at, step)) as of_at`
      : `tuple(minOrNullIf(${name}, isFinite(${name})), maxOrNullIf(${name}, isFinite(${name})), max(step), argMax(${name}, step)) as of_${name}`,
  );
  const rows = await readRows<Readonly<Record<string, unknown>> & { bucket: number; first: number; until: number }>(
    store,
    `select intDiv(step - {start:Int32}, {width:Int32}) as bucket, min(step) as first, max(step) as until${columns.map((sql) => `, ${sql}`).join('')}
     from ${table} where ${STEPS_OF_RANGE} group by bucket order by bucket`,
    { ...slices },
  );
  const spreads = (row: Readonly<Record<string, unknown>>): Map<string, BucketSpread> =>
    new Map(
      names.map((name) => {
        const [low, high, step, last] = row[`of_${name}`] as [number | null, number | null, number, unknown];
        return [name, { low, high, step, last }];
      }),
    );
  return new Map(rows.map((row) => [row.bucket, { first: row.first, last: row.until, spreads: spreads(row) }]));
}

/** Figures of the steps that have none yet. */
async function readOthers(store: Store, range: CurveRange): Promise<ReadonlyMap<number, StepPoint>> {
  const missing = await readRows<{ step: number }>(
    store,
    `select distinct step from steps where ${STEPS_OF_RANGE} and step not in (select step from step_figures where ${STEPS_OF_RANGE})`,
    { ...range },
  );
  return makeOthers(
    store,
    range,
    missing.map(({ step }) => step),
  );
}

function merge(buckets: ReadonlyMap<number, Bucket>, more: ReadonlyMap<number, Bucket>): void {
  for (const [number, { spreads }] of more) {
    for (const [name, spread] of spreads) buckets.get(number)?.spreads.set(name, spread);
  }
}

/** A step that discarded nothing is a zero, not a hole. */
function withoutLosses(buckets: ReadonlyMap<number, Bucket>, lost: ReadonlyMap<number, StepPoint>): readonly StepPoint[] {
  const points: StepPoint[] = [];
  for (const { first, last } of buckets.values()) {
    for (let step = first; step <= last; step += 1) {
      points.push({ discarded: 0, discarded_stale: 0, discarded_uniform: 0, ...lost.get(step), step });
    }
  }
  return points;
}

function addPoints(
  buckets: ReadonlyMap<number, Bucket>,
  { start, width }: Slices,
  { points, names }: { readonly points: readonly StepPoint[]; readonly names: readonly string[] },
): void {
  for (const point of points) {
    const bucket = buckets.get(Math.floor((point.step - start) / width));
    if (bucket === undefined) continue;
    for (const name of names) bucket.spreads.set(name, widen(bucket.spreads.get(name), point.step, point[name]));
  }
}

/** A spread with one more value. */
export function widen(spread: BucketSpread | undefined, step: number, value: unknown): BucketSpread {
  const number = typeof value === 'number' ? value : null;
  if (spread === undefined) return { low: number, high: number, step, last: value ?? null };
  const either = (a: number | null, pick: (a: number, b: number) => number): number | null =>
    a === null || number === null ? (a ?? number) : pick(a, number);
  const later = step >= spread.step;
  return {
    low: either(spread.low, Math.min),
    high: either(spread.high, Math.max),
    step: later ? step : spread.step,
    last: later ? (value ?? null) : spread.last,
  };
}

function answerOf(
  run: string,
  every: number,
  { names, buckets }: { readonly names: readonly string[]; readonly buckets: readonly Bucket[] },
): BucketCurves {
  const each = (pick: (spread: BucketSpread | undefined) => unknown): Record<string, SeriesValues> =>
    Object.fromEntries(names.map((name) => [name, buckets.map(({ spreads }) => pick(spreads.get(name)) ?? null)]));
  return {
    ...{ run_id: run, every },
    steps: buckets.map(({ last }) => last),
    first_steps: buckets.map(({ first }) => first),
    series: each((spread) => spread?.last),
    low: each((spread) => spread?.low),
    high: each((spread) => spread?.high),
  };
}
