// The curves of a run: one value per step for each series. Figures about the trajectories of a step are read if the warehouse has stored
// them, and computed for the few other steps, so that the cost depends only on the number of steps. Discards are summed from their counts
// by version; all other figures are columns of the steps.
import { stepFiguresSql, STEPS_OF_RANGE } from '../../common/step-figures.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { MOST_INT32 } from '../values.ts';
import { curveColumns, extraColumns } from './curves.columns.ts';
import { extraSources, isExtra, isFigure, isLoss, lossesSql } from './curve-sources.ts';

/** Maximum number of steps in a response; longer runs are downsampled or requested in ranges. */
export const MOST_STEPS = 10_000;

type Series = Exclude<keyof typeof curveColumns, 'step'> | keyof typeof extraColumns;
/** Series that are returned by default. */
const usualSeries = Object.keys(curveColumns).filter((name) => name !== 'step') as readonly Series[];
export const seriesNames: readonly Series[] = [...usualSeries, ...(Object.keys(extraColumns) as readonly (keyof typeof extraColumns)[])];

/** Series to return, in the order of the columns. */
export const seriesOf = (named: readonly string[] | undefined): readonly Series[] =>
  named === undefined ? usualSeries : seriesNames.filter((name) => named.includes(name));

interface CurvesQuery {
  readonly from_step?: number | undefined;
  readonly to_step?: number | undefined;
  readonly series?: readonly string[] | undefined;
}

interface CurvesReport {
  readonly run_id: string;
  readonly every: number;
  readonly steps: readonly number[];
  readonly series: Readonly<Record<string, readonly unknown[]>>;
}

export type StepPoint = Readonly<Record<string, unknown>> & { readonly step: number };
type ByStep = ReadonlyMap<number, StepPoint>;

export interface CurveRange {
  readonly run: string;
  readonly from_step: number;
  readonly to_step: number;
}

export async function readCurves(store: Store, run: string, query: CurvesQuery): Promise<CurvesReport> {
  const wanted = seriesOf(query.series);
  const range = { run, from_step: query.from_step ?? 0, to_step: query.to_step ?? MOST_INT32 };
  const { every, last } = await spanOf(store, range);
  const shown = { ...range, every, last };
  const [made, kept, lost, ...extras] = await Promise.all([
    readSteps(
      store,
      shown,
      wanted.filter((name) => !isFigure(name) && !isLoss(name) && !isExtra(name)),
    ),
    readKept(store, shown, wanted.filter(isFigure)),
    wanted.some(isLoss) ? readPoints(store, lossesSql, range) : undefined,
    ...extraSources(wanted).map(({ from, names }) => readPoints(store, `select step, ${names.join(', ')} from ${from}`, range)),
  ]);
  const figures = new Map([
    ...kept,
    ...(await makeOthers(
      store,
      range,
      [...made.keys()].filter((step) => !kept.has(step)),
    )),
  ]);
  const steps = [...made.keys()].filter((step) => figures.has(step));
  const valueAt = (step: number, name: Series): unknown => {
    if (isLoss(name)) return lost?.get(step)?.[name] ?? 0;
    if (isExtra(name)) return extras.map((points) => points.get(step)?.[name]).find((value) => value !== undefined) ?? null;
    return (isFigure(name) ? figures : made).get(step)?.[name];
  };
  return { run_id: run, every, steps, series: Object.fromEntries(wanted.map((name) => [name, steps.map((step) => valueAt(step, name))])) };
}

/** The interval between returned steps, and the last step. */
async function spanOf(store: Store, range: CurveRange): Promise<{ readonly every: number; readonly last: number }> {
  const [span] = await readRows<{ every: number; last: number }>(
    store,
    `select greatest(1, intDiv(uniqExact(step) + {most:UInt32} - 2, {most:UInt32} - 1)) as every, max(step) as last from steps where ${STEPS_OF_RANGE}`,
    { ...range, most: MOST_STEPS },
  );
  return span ?? { every: 1, last: 0 };
}

type BucketedRange = CurveRange & { readonly every: number; readonly last: number };

const SHOWN = `${STEPS_OF_RANGE} and (step % {every:UInt32} = 0 or step = {last:Int32} or {every:UInt32} = 1)`;

/** The rows of a statement by step, in the order of the statement; of two rows for a step, the last. */
async function readPoints(store: Store, sql: string, params: object): Promise<ByStep> {
  const rows = await readRows<StepPoint>(store, sql, { ...params });
  return new Map(rows.map((row) => [row.step, row]));
}

const readSteps = (store: Store, shown: BucketedRange, names: readonly string[]): Promise<ByStep> =>
  readPoints(store, `select ${['step', ...names].join(', ')} from steps where ${SHOWN} order by step`, shown);

const readKept = (store: Store, shown: BucketedRange, names: readonly string[]): Promise<ByStep> =>
  readPoints(store, `select ${['step', ...names].join(', ')} from step_figures where ${SHOWN} order by step`, shown);

/** Steps at most this far apart are computed together. */
const STRETCH = 64;

export async function makeOthers(store: Store, { run }: CurveRange, steps: readonly number[]): Promise<ByStep> {
  const figures = new Map<number, StepPoint>();
  for (const [from_step, to_step] of stretchesOf(steps)) {
    for (const [step, point] of await readPoints(store, stepFiguresSql, { run, from_step, to_step })) figures.set(step, point);
  }
  return figures;
}

/** The first and the last step of each stretch of steps that are computed together. */
export function stretchesOf(steps: readonly number[]): readonly (readonly [number, number])[] {
  const found: [number, number][] = [];
  for (const step of [...steps].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last !== undefined && step - last[1] <= STRETCH) last[1] = step;
    else found.push([step, step]);
  }
  return found;
}
