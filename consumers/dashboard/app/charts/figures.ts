// What a chart shows, without the DOM: its series, and the columns to draw.
import type { ApiCurves } from '../data/shapes.ts';
import { visible } from '../kit/visible.ts';

export interface ChartSpec {
  readonly title: string;
  readonly series: readonly string[];
  /** Lower bound of the axis, if the values have a natural one. */
  readonly from?: number;
  /** Only some steps have a value: draw points, and connect them across gaps. */
  readonly sparse?: true;
}

/** The x axes of the charts of a page. */
export const axes = ['step', 'version', 'time'] as const;
export type ChartAxis = (typeof axes)[number];

export const axisOf = (name: string | null | undefined): ChartAxis => axes.find((axis) => axis === name) ?? 'step';

/** The series that an axis needs. */
const seriesOfAxis: Readonly<Record<ChartAxis, readonly string[]>> = { step: [], version: ['version_after'], time: ['at'] };

/** The charts of the overview. */
export const mainCharts: readonly ChartSpec[] = [
  { title: 'Reward', series: ['reward_mean'] },
  { title: 'F1', series: ['f1_mean'] },
  { title: 'Turns', series: ['turns_mean', 'turns_p95'], from: 0 },
  { title: 'Generated tokens', series: ['tokens_mean', 'tokens_p95'], from: 0 },
  { title: 'Staleness', series: ['staleness_mean', 'staleness_max'], from: 0 },
  { title: 'Discarded', series: ['discarded_stale', 'discarded_uniform'], from: 0 },
  { title: 'Tool errors a trajectory', series: ['tool_errors_mean'], from: 0 },
];

/** Charts whose series need more than the steps table; requested after the others have arrived. */
export const slowCharts: readonly ChartSpec[] = [
  { title: 'Reward of all that finished', series: ['reward_all_mean'] },
  { title: 'Held-out questions', series: ['heldout_f1', 'heldout_em'], from: 0, sparse: true },
];

/** All other series. */
export const moreCharts: readonly ChartSpec[] = [
  { title: 'Exact match and format', series: ['em_mean', 'format_rate'] },
  { title: 'Tool calls', series: ['searches_mean', 'accesses_mean'], from: 0 },
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

/** The axis if the response has the series for it; until a new response arrives, an earlier one may be shown. */
export const axisIn = (curves: ApiCurves, axis: ChartAxis): ChartAxis =>
  seriesOfAxis[axis].every((name) => Object.hasOwn(curves.series, name)) ? axis : 'step';

interface CurvesRange {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly points: number;
  readonly axis?: ChartAxis;
}

/** The request for some charts over a range of steps. */
export function curvesUrl(run: string, charts: readonly ChartSpec[], { from, to, points, axis = 'step' }: CurvesRange): string {
  const names = [...new Set([...charts.flatMap(({ series }) => series), ...seriesOfAxis[axis]])];
  const steps = `${from === undefined ? '' : `&from_step=${from}`}${to === undefined ? '' : `&to_step=${to}`}`;
  return `/v1/runs/${encodeURIComponent(run)}/curves?points=${points}${steps}&series=${names.join(',')}`;
}

/** Charts with a series that matches the pattern; all of them without a pattern. */
export function chartsLike(charts: readonly ChartSpec[], pattern: string): readonly ChartSpec[] | undefined {
  if (pattern === '') return charts;
  try {
    const wanted = new RegExp(pattern, 'i');
    return charts.filter(({ title, series }) => wanted.test(title) || series.some((name) => wanted.test(name)));
  } catch {
    return undefined;
  }
}

/** Describes how the curves were downsampled. */
export const reduction = ({ every }: Pick<ApiCurves, 'every'>): string =>
  every === 1 ? 'every step' : `1 point = ${every} steps: last value, band from least to most`;

/** The same for one of several runs. */
export const reductionOf = (run: string, curves: ApiCurves): string =>
  curves.steps.length === 0 ? `${visible(run)} has no steps here` : `${visible(run)}: ${reduction(curves)}`;

/** True if no value of the chart was recorded, which is not known for a series that was not requested. */
export const isEmpty = (curves: ApiCurves, { series }: ChartSpec): boolean =>
  series.every((name) => curves.series[name]?.every((value) => value === null) ?? false);

/** The last value of a series; of a sparse chart, the last one that was recorded. */
export function lastValueOf({ series }: Pick<ApiCurves, 'series'>, { sparse }: ChartSpec, name: string): unknown {
  const values = series[name];
  return sparse === true ? values?.findLast((value) => value !== null) : values?.at(-1);
}

/** Buckets that contain an evaluated version. */
export const evaluatedAt = (curves: ApiCurves): readonly number[] =>
  (curves.series['heldout_f1'] ?? []).flatMap((value, at) => (value === null ? [] : [at]));
