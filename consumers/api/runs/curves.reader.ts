// The curves of a run cost what their steps are: figures of trajectories are read where the warehouse keeps them and made for
// the steps that it has not come to; what was discarded is counted, and the rest stands with the steps.
import { figureColumns, stepFiguresSql, STEPS_OF_RANGE } from '../../common/step-figures.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { curveColumns } from './curves.columns.ts';

/** Steps of one answer; longer runs are thinned, or asked for by ranges. */
export const MOST_STEPS = 10_000;

export type Series = Exclude<keyof typeof curveColumns, 'step'>;
export const seriesNames = Object.keys(curveColumns).filter((name) => name !== 'step') as readonly Series[];

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

const losses = ['discarded', 'discarded_stale', 'discarded_uniform'] as const;
export const isFigure = (name: string): boolean => (figureColumns as readonly string[]).includes(name);
export const isLoss = (name: string): boolean => (losses as readonly string[]).includes(name);

export async function readCurves(store: Store, run: string, query: CurvesQuery): Promise<CurvesReport> {
  const wanted = query.series === undefined ? seriesNames : seriesNames.filter((name) => query.series?.includes(name));
  const range = { run, from_step: query.from_step ?? 0, to_step: query.to_step ?? 2_147_483_647 };
  const { every, last } = await spanOf(store, range);
  const shown = { ...range, every, last };
  const [made, kept, lost] = await Promise.all([
    readSteps(
      store,
      shown,
      wanted.filter((name) => !isFigure(name) && !isLoss(name)),
    ),
    readKept(store, shown, wanted.filter(isFigure)),
    wanted.some(isLoss) ? readLosses(store, range) : undefined,
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
    return (isFigure(name) ? figures : made).get(step)?.[name];
  };
  return { run_id: run, every, steps, series: Object.fromEntries(wanted.map((name) => [name, steps.map((step) => valueAt(step, name))])) };
}

/** Of how many steps one is shown, and the last one. */
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

/** Each step once, in order. */
async function readPoints(store: Store, sql: string, params: object): Promise<ByStep> {
  const rows = await readRows<StepPoint>(store, sql, { ...params });
  return new Map(rows.map((row) => [row.step, row]));
}

const readSteps = (store: Store, shown: BucketedRange, names: readonly string[]): Promise<ByStep> =>
  readPoints(store, `select ${['step', ...names].join(', ')} from steps where ${SHOWN} order by step`, shown);

const readKept = (store: Store, shown: BucketedRange, names: readonly string[]): Promise<ByStep> =>
  readPoints(store, `select ${['step', ...names].join(', ')} from step_figures where ${SHOWN} order by step`, shown);

/** What was discarded at version v belongs to step v + 1. */
export const readLosses = (store: Store, range: CurveRange): Promise<ByStep> =>
  readPoints(
    store,
    `select toInt32(version + 1) as step, sum(discards_by_version.discarded) as discarded,
       sumIf(discards_by_version.discarded, reason = 'stale') as discarded_stale,
       sumIf(discards_by_version.discarded, reason = 'uniform_group') as discarded_uniform
     from discards_by_version
     where run_id = {run:String} and version >= {from_step:Int32} - 1 and version < {to_step:Int32}
     group by step`,
    range,
  );

/** Steps that are made at once; further apart, each stretch by itself. */
const STRETCH = 64;

export async function makeOthers(store: Store, { run }: CurveRange, steps: readonly number[]): Promise<ByStep> {
  const figures = new Map<number, StepPoint>();
  for (const [from_step, to_step] of stretchesOf(steps)) {
    for (const [step, point] of await readPoints(store, stepFiguresSql, { run, from_step, to_step })) figures.set(step, point);
  }
  return figures;
}

/** First and last of steps that are close to each other. */
export function stretchesOf(steps: readonly number[]): readonly (readonly [number, number])[] {
  const found: [number, number][] = [];
  for (const step of [...steps].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last !== undefined && step - last[1] <= STRETCH) last[1] = step;
    else found.push([step, step]);
  }
  return found;
}
