// The columns of a plot: x values and series. For a single run, they are the arrays of the response, so that no chart copies data.
import type { ApiCurves } from '../data/shapes.ts';
import type { ChartAxis, ChartSpec } from './figures.ts';
import { firstAt } from '../data/first-at.ts';

/** A value, null for a gap, or undefined at an x value that only another run has. */
type FigureColumn = readonly (number | null | undefined)[];
type ChartColumns = readonly [Float64Array, ...FigureColumn[]];

const places = new WeakMap<ApiCurves, Map<ChartAxis, Float64Array>>();

/** The x value of each bucket, by its last step; shared by all charts of a response. */
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

let gap: FigureColumn = [];

/** An empty column. */
function gapOf(length: number): FigureColumn {
  if (gap.length !== length) gap = Array.from({ length }, () => null);
  return gap;
}

const columnOf = (values: readonly unknown[] | undefined, length: number): FigureColumn =>
  values === undefined ? gapOf(length) : (values as FigureColumn);

/**
 * The columns of a plot: x, then last, minimum, and maximum of each series, then each series of the other runs. For a single run, they are
 * the arrays of the response; for several, each run has values at the steps that it has.
 */
export function columnsOf(
  { own, others = [] }: { readonly own: ApiCurves; readonly others?: readonly ApiCurves[] },
  { series }: ChartSpec,
  axis: ChartAxis = 'step',
): ChartColumns {
  const { length } = own.steps;
  const columns = series.flatMap((name) => [own.series[name], own.low?.[name], own.high?.[name]].map((values) => columnOf(values, length)));
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
    ...others.flatMap((curves, at) => series.map((name) => spread(all[at + 1], columnOf(curves.series[name], curves.steps.length)))),
  ];
}

/** One series of several runs: every step that any of them has, and the last value of each run there. */
export function alignRuns(runs: readonly ApiCurves[], name: string): ChartColumns {
  const steps = Float64Array.from(new Set(runs.flatMap((one) => one.steps))).sort();
  const columns = runs.map((one) => {
    const column: (number | null)[] = Array.from(steps, () => null);
    for (const [at, value] of columnOf(one.series[name], one.steps.length).entries())
      column[firstAt(steps, one.steps[at] ?? 0)] = value ?? null;
    return column;
  });
  return [steps, ...columns];
}
