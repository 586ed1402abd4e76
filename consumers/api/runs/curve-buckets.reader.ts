// Curves in buckets of steps, with minimum, maximum, and last value of each series per bucket, so that no spike is lost in a run of any
// length. One statement finds the range, builds the buckets, and returns one column per series. A bucket of one step has that step's
// values. Figures that the warehouse has not stored yet are computed here.
import { STEPS_OF_RANGE } from '../../common/step-figures.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { MOST_INT32 } from '../values.ts';
import { isExtra, isFigure, isLoss, sourcesOf, type CurveSource } from './curve-sources.ts';
import { makeOthers, seriesOf, type CurveRange, type StepPoint } from './curves.reader.ts';

interface BucketsQuery {
  readonly from_step?: number | undefined;
  readonly to_step?: number | undefined;
  readonly series?: readonly string[] | undefined;
  readonly points: number;
}

type SeriesValues = unknown[];
type SeriesByName = Readonly<Record<string, SeriesValues>>;

export interface BucketCurves {
  readonly run_id: string;
  /** Number of steps in a bucket. */
  readonly every: number;
  /** Last step of each bucket. */
  readonly steps: readonly number[];
  readonly first_steps: readonly number[];
  /** Value at the last step of the bucket that has one. */
  readonly series: SeriesByName;
  /** Absent if a bucket is a single step: they would equal the values. */
  readonly low?: SeriesByName;
  readonly high?: SeriesByName;
}

interface BucketSpread {
  readonly low: number | null;
  readonly high: number | null;
  /** The step of `last`. */
  readonly step: number;
  readonly last: unknown;
}

/** The bounds of the range, the number of steps per bucket, and where the first bucket starts; there are at most `points` + 1 buckets. */
const SPAN = `
  (select tuple(min(step), max(step)) from steps where ${STEPS_OF_RANGE}) as span,
  greatest(1, intDiv(span.2 - span.1 + {points:Int32}, {points:Int32})) as width,
  intDiv(span.1, width) * width as start`;

/** The figures of a source as one array per step, because many separate columns take longer to plan than to read. */
const arrayOf = (names: readonly string[]): string => `[${names.map((name) => `ifNull(toFloat64(${name}), nan)`).join(', ')}]`;

const joinOf = ({ alias, from, names }: CurveSource): string =>
  `left join (select step, 1 as has_${alias}, ${arrayOf(names)} as x_${alias} from ${from}) as ${alias} using (step)`;

/** Last, minimum, and maximum of the figures of a source in a bucket. Infinity becomes null, like NaN. */
function spreadsOf({ alias, names }: CurveSource): string {
  // a step without discards is a zero, not a gap
  const values = alias === 'lost' ? `if(has_lost = 0, [${names.map(() => '0.').join(', ')}], x_lost)` : `x_${alias}`;
  const there = alias === 'lost' || alias === 'made' ? '1' : `has_${alias} = 1`;
  const finite = (other: string): string => `arrayMap(x -> if(isFinite(x), x, ${other}), ${values})`;
  return `, maxIf(step, ${there}) as until_${alias}, argMaxIf(${values}, step, ${there}) as last_${alias},
    if(any(width) = 1, emptyArrayFloat64(), minForEach(${finite('inf')})) as low_${alias},
    if(any(width) = 1, emptyArrayFloat64(), maxForEach(${finite('-inf')})) as high_${alias}`;
}

const statementOf = (own: readonly string[], sources: readonly CurveSource[]): string => `with ${SPAN}
  select any(width) as every, any(start) as begins, intDiv(step - start, width) as bucket, min(step) as first, max(step) as until,
    ${sources.some(({ alias }) => alias === 'kept') ? 'groupUniqArrayIf(step, has_kept = 0)' : 'emptyArrayInt32()'} as missing, argMax(at, step) as last_at
    ${[{ alias: 'made', from: '', names: own }, ...sources].map(spreadsOf).join('')}
  from (
    select * from (select step, at, ${own.length === 0 ? 'emptyArrayFloat64()' : arrayOf(own)} as x_made from steps where ${STEPS_OF_RANGE}) as made
    ${sources.map(joinOf).join('\n    ')}
  )
  group by bucket order by bucket`;

type SpreadColumns = Readonly<Record<string, (number | null)[]>>;
interface BucketRow {
  readonly every: number;
  readonly begins: number;
  readonly bucket: number;
  readonly first: number;
  readonly until: number;
  readonly missing: readonly number[];
  readonly last_at: string;
}

export async function readBuckets(store: Store, run: string, query: BucketsQuery): Promise<BucketCurves> {
  const names = seriesOf(query.series);
  const range: CurveRange = { run, from_step: query.from_step ?? 0, to_step: query.to_step ?? MOST_INT32 };
  const own = names.filter((name) => name !== 'at' && !isFigure(name) && !isLoss(name) && !isExtra(name));
  const sources = sourcesOf(names);
  const rows = await readRows<BucketRow & SpreadColumns>(store, statementOf(own, sources), { ...range, points: query.points });
  const kept = sources.find(({ alias }) => alias === 'kept')?.names ?? [];
  await addMissing(store, range, { rows, names: kept });
  const places = new Map(
    [{ alias: 'made', names: own }, ...sources].flatMap(({ alias, names: of }) => of.map((name, at) => [name, { alias, at }] as const)),
  );
  const each = (which: string): Record<string, SeriesValues> =>
    Object.fromEntries(
      names.map((name) => {
        const { alias, at } = places.get(name) ?? { alias: '', at: -1 };
        return [
          name,
          name === 'at'
            ? rows.map((row) => (which === 'last' ? row.last_at : null))
            : rows.map((row) => rounded(row[`${which}_${alias}`]?.[at])),
        ];
      }),
    );
  const every = rows[0]?.every ?? 1;
  const curves = {
    run_id: run,
    every,
    steps: rows.map(({ until }) => until),
    first_steps: rows.map(({ first }) => first),
    series: each('last'),
  };
  return every === 1 ? curves : { ...curves, low: each('low'), high: each('high') };
}

/** Computes figures that are not stored yet, and adds them to their buckets. */
async function addMissing(
  store: Store,
  range: CurveRange,
  { rows, names }: { readonly rows: readonly (BucketRow & SpreadColumns)[]; readonly names: readonly string[] },
): Promise<void> {
  const missing = rows.flatMap((row) => row.missing);
  if (missing.length === 0) return;
  const others = await makeOthers(store, range, missing);
  for (const row of rows) {
    let until = row.missing.length === 0 ? undefined : (row as unknown as { until_kept: number }).until_kept;
    for (const step of [...row.missing].sort((a, b) => a - b)) {
      const point = others.get(step);
      if (point === undefined) continue;
      addPoint(row, { until: until === 0 ? undefined : until, point, names });
      until = Math.max(until ?? 0, step);
    }
  }
}

function addPoint(
  row: SpreadColumns,
  { until, point, names }: { readonly until: number | undefined; readonly point: StepPoint; readonly names: readonly string[] },
): void {
  const [last, low, high] = [row['last_kept'] ?? [], row['low_kept'] ?? [], row['high_kept'] ?? []];
  for (const [at, name] of names.entries()) {
    const known = until === undefined ? undefined : { low: low[at] ?? null, high: high[at] ?? null, step: until, last: last[at] };
    const wider = widen(known, point.step, point[name]);
    [last[at], low[at], high[at]] = [wider.last as number | null, wider.low, wider.high];
  }
}

/** Extends a spread by a value. */
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

/** Rounds to six significant digits, which is enough for a chart and halves the size. Whole numbers are unchanged. */
export const rounded = (value: unknown): unknown =>
  typeof value !== 'number' || Number.isInteger(value) ? (value ?? null) : Number(value.toPrecision(6));
