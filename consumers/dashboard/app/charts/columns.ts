// The columns of a plot: x values and series. For a single run, they are the arrays of the response, so that no chart copies data.
import type { ApiCurves } from '../data/shapes.ts';
import type { ChartAxis, ChartSpec } from './figures.ts';
import { firstAt } from '../data/first-at.ts';

/** A value, null for a gap, or undefined at an x value that only another run has. */
type FigureColumn = readonly (number | null | undefined)[];
type ChartColumns = readonly [Float64Array, ...FigureColumn[]];

const places = new WeakMap<ApiCurves, Map<ChartAxis, Float64Array>>();

/** The x value of each bucket: that of its last step. Shared by all charts of a response. */
export function placesOf(curves: ApiCurves, axis: ChartAxis): Float64Array {
  const known = places.get(curves) ?? new Map<ChartAxis, Float64Array>();
  places.set(curves, known);
  const made = known.get(axis) ?? Float64Array.from(valuesOn(curves, axis));
  known.set(axis, made);
  return made;
}

function valuesOn(curves: ApiCurves, axis: ChartAxis): readonly number[] {
  if (axis === 'step') return curves.steps;
  if (axis === 'version') return curves.steps.map((step, at) => Number(curves.series['version_after']?.[at] ?? step));
  return curves.steps.map((_, at) => Date.parse(String(curves.series['at']?.[at] ?? '')) / 1_000);
}

/** The x value of a step. */
export function placeOfStep(curves: ApiCurves, axis: ChartAxis, step: number): number {
  if (axis === 'step' || curves.steps.length === 0) return step;
  return placesOf(curves, axis)[Math.min(curves.steps.length - 1, firstAt(curves.steps, step))] ?? step;
}

/** The steps between two x values. */
export function stepsBetween(curves: ApiCurves, axis: ChartAxis, [from, to]: readonly [number, number]): readonly [number, number] {
  if (axis === 'step') return [Math.max(0, Math.floor(from)), Math.ceil(to)];
  const values = placesOf(curves, axis);
  const last = values.length - 1;
  const [first, until] = [firstAt(values, from), firstAt(values, to)].map((at) => Math.max(0, Math.min(last, at))) as [number, number];
  return [curves.first_steps[first] ?? 0, curves.steps[until] ?? 0];
}

/** The step of an x value: the last one of its bucket. */
export const stepOf = (curves: ApiCurves, axis: ChartAxis, x: number): number =>
  axis === 'step' ? x : stepsBetween(curves, axis, [x, x])[1];

/** A range of steps in the address; an end that is undefined is that of the run. */
interface AskedSteps {
  readonly from: number | undefined;
  readonly to: number | undefined;
}

interface StepZoom {
  /** The step that keeps its place. */
  readonly at: number;
  readonly direction: 'in' | 'out';
  /** The range that was requested. */
  readonly asked: AskedSteps;
}

/** Half of the steps that are shown, or twice as many. */
export function zoomSteps(curves: Pick<ApiCurves, 'steps' | 'first_steps'>, { at, direction, asked }: StepZoom): AskedSteps {
  const [first, last] = [curves.first_steps[0] ?? at, curves.steps.at(-1) ?? at];
  const step = Math.max(first, Math.min(last, at));
  const [before, after] = [step - first, last - step];
  if (direction === 'in') return { from: step - Math.ceil(before / 2), to: step + Math.ceil(after / 2) };
  // a response that stops short of an end of the requested range has reached that end of the run
  return {
    from: asked.from === undefined || asked.from < first ? undefined : Math.max(0, step - 2 * before - 1),
    to: asked.to === undefined || asked.to > last ? undefined : step + 2 * after + 1,
  };
}

let gap: FigureColumn = [];

/** An empty column. */
function gapOf(length: number): FigureColumn {
  if (gap.length !== length) gap = Array.from({ length }, () => null);
  return gap;
}

const columnOf = (values: readonly unknown[] | undefined, length: number): FigureColumn =>
  values === undefined ? gapOf(length) : (values as FigureColumn);

/** Last, minimum, and maximum of each series. */
const columnsOfRun = (curves: ApiCurves, series: readonly string[]): readonly FigureColumn[] =>
  series.flatMap((name) =>
    [curves.series[name], curves.low?.[name], curves.high?.[name]].map((values) => columnOf(values, curves.steps.length)),
  );

/**
 * The columns of a plot: x, then last, minimum, and maximum of each series, then the same of each of the other runs. For a single run, they
 * are the arrays of the response; for several, each run has values at the steps that it has.
 */
export function columnsOf(
  { own, others = [] }: { readonly own: ApiCurves; readonly others?: readonly ApiCurves[] },
  { series }: ChartSpec,
  axis: ChartAxis = 'step',
): ChartColumns {
  const columns = columnsOfRun(own, series);
  if (others.length === 0) return [placesOf(own, axis), ...columns];
  const all = [own, ...others].map((curves) => placesOf(curves, axis));
  const x = Float64Array.from(new Set(all.flatMap((values) => [...values]))).sort();
  const spread = (of: Float64Array | undefined, values: FigureColumn): FigureColumn => {
    const column = Array.from<number | null | undefined>({ length: x.length });
    for (const [at, value] of (of ?? []).entries()) column[firstAt(x, value)] = values[at];
    return column;
  };
  return [
    x,
    ...columns.map((values) => spread(all[0], values)),
    ...others.flatMap((curves, at) => columnsOfRun(curves, series).map((values) => spread(all[at + 1], values))),
  ];
}

/** Minimum and maximum of a series; nothing if each bucket is a single step. */
export const bandOf = ({ low, high }: ApiCurves, name: string): readonly FigureColumn[] =>
  [low?.[name], high?.[name]].flatMap((values) => (values === undefined ? [] : [values]));

/** One series of several runs: every step that any of them has, and for each run the last value there, then the band if it has one. */
export function alignRuns(runs: readonly ApiCurves[], name: string): ChartColumns {
  const steps = Float64Array.from(new Set(runs.flatMap((one) => one.steps))).sort();
  const columns = runs.flatMap((one) =>
    [columnOf(one.series[name], one.steps.length), ...bandOf(one, name)].map((values) => {
      const column: (number | null)[] = Array.from(steps, () => null);
      for (const [at, value] of values.entries()) column[firstAt(steps, one.steps[at] ?? 0)] = value ?? null;
      return column;
    }),
  );
  return [steps, ...columns];
}
