// What a chart shows, as plain values: series that belong together, and columns for the drawing.
import type { ApiCurves } from '../data/shapes.ts';

export interface ChartSpec {
  readonly title: string;
  readonly series: readonly string[];
  /** Least value of the axis, where it has one by nature. */
  readonly from?: number;
}

/** The charts of the overview. */
export const mainCharts: readonly ChartSpec[] = [
  { title: 'Reward', series: ['reward_mean'] },
  { title: 'F1', series: ['f1_mean'] },
  { title: 'Turns', series: ['turns_mean', 'turns_p95'], from: 0 },
  { title: 'Tokens', series: ['tokens_mean', 'tokens_p95'], from: 0 },
  { title: 'Staleness', series: ['staleness_mean', 'staleness_max'], from: 0 },
  { title: 'Discarded', series: ['discarded_stale', 'discarded_uniform'], from: 0 },
];

/** Every other series. */
export const moreCharts: readonly ChartSpec[] = [
  { title: 'Exact match and format', series: ['em_mean', 'format_rate'] },
  { title: 'Tool calls', series: ['searches_mean', 'accesses_mean', 'tool_errors_mean'], from: 0 },
  { title: 'Where staleness comes from', series: ['staleness_in_flight_mean', 'staleness_in_queue_mean'], from: 0 },
  { title: 'Staleness of tokens', series: ['staleness_token_mean', 'staleness_token_p95', 'staleness_token_max'], from: 0 },
  { title: 'Tokens of an unknown version', series: ['unknown_tokens'], from: 0 },
  { title: 'Loss', series: ['loss'] },
  { title: 'Entropy', series: ['entropy'] },
  { title: 'KL', series: ['approx_kl', 'behave_kl'] },
  { title: 'Clip fraction', series: ['clip_fraction'], from: 0 },
  { title: 'Effective sample size', series: ['ess'], from: 0 },
  { title: 'Gradient norm', series: ['grad_norm'], from: 0 },
  { title: 'Waiting and training, ms', series: ['wait_ms', 'train_ms'], from: 0 },
];

/** Request for some charts over a range of steps. */
export function curvesUrl(
  run: string,
  charts: readonly ChartSpec[],
  range: { readonly from?: number | undefined; readonly to?: number | undefined; readonly points: number },
): string {
  const names = [...new Set(charts.flatMap(({ series }) => series))];
  const steps = `${range.from === undefined ? '' : `&from_step=${range.from}`}${range.to === undefined ? '' : `&to_step=${range.to}`}`;
  return `/v1/runs/${encodeURIComponent(run)}/curves?points=${range.points}${steps}&series=${names.join(',')}`;
}

type FigureColumn = (number | null)[];

const numbers = (values: readonly unknown[] | undefined, length: number): FigureColumn =>
  Array.from({ length }, (_, at) => {
    const value = values?.[at];
    return typeof value === 'number' && Number.isFinite(value) ? value : null;
  });

/** Columns of the drawing: x, then last, low, and high of each series. */
export function columnsOf(curves: ApiCurves, { series }: ChartSpec): readonly FigureColumn[] {
  const { length } = curves.steps;
  const columns = series.flatMap((name) =>
    [curves.series[name], curves.low[name], curves.high[name]].map((values) => numbers(values, length)),
  );
  return [[...curves.steps], ...columns];
}

/** How the curves were reduced, in words. */
export const reduction = ({ every }: Pick<ApiCurves, 'every'>): string =>
  every === 1 ? 'every step' : `1 point = ${every} steps: last value, band from least to most`;

/** True when no value of the chart was recorded. */
export const isEmpty = (curves: ApiCurves, { series }: ChartSpec): boolean =>
  series.every((name) => numbers(curves.series[name], curves.steps.length).every((value) => value === null));

/** Columns of one series of several runs: every step that one of them has, and the last value of each run there. */
export function alignRuns(runs: readonly ApiCurves[], name: string): readonly FigureColumn[] {
  const steps = [...new Set(runs.flatMap((one) => one.steps))].sort((a, b) => a - b);
  const placeOf = new Map(steps.map((step, at) => [step, at]));
  const columns = runs.map((one) => {
    const column: FigureColumn = steps.map(() => null);
    for (const [at, value] of numbers(one.series[name], one.steps.length).entries()) {
      const place = placeOf.get(one.steps[at] ?? -1);
      if (place !== undefined) column[place] = value;
    }
    return column;
  });
  return [steps, ...columns];
}
