// Shortcuts of the charts of a page. The charts share a cursor, so that a key moves it in all of them.
import type UPlot from 'uplot';
import type { ApiCurves } from '../data/shapes.ts';
import type { KeyBinding } from '../shell/keys.ts';
import { change, numberParameter } from '../shell/place.ts';
import { stepOf, zoomSteps } from './columns.ts';
import type { ChartAxis } from './figures.ts';

interface KeyedChart {
  readonly plot: UPlot;
  /** What its latest render shows. */
  readonly latest: {
    readonly current: { readonly curves: ApiCurves; readonly axis: ChartAxis; readonly onOpen: (step: number) => void };
  };
}

/** The charts of the page; the first one tells where the cursor is. */
let charts: readonly KeyedChart[] = [];

/** Lets shortcuts reach a chart. The returned function removes it. */
export function addKeyedChart(chart: KeyedChart): () => void {
  charts = [...charts, chart];
  return () => {
    charts = charts.filter((one) => one !== chart);
  };
}

/** Moves the cursor by a number of points; without a cursor, to the newest point. */
function moveCursor(by: number): void {
  const [chart] = charts;
  if (chart === undefined) return;
  const { data, cursor } = chart.plot;
  const last = data[0].length - 1;
  const at = cursor.idx === null || cursor.idx === undefined ? last : Math.max(0, Math.min(last, cursor.idx + by));
  const x = data[0][at];
  if (x === undefined) return;
  for (const { plot } of charts) plot.setCursor({ left: Math.max(0, plot.valToPos(x, 'x')), top: 0 });
}

/** The step at the cursor. */
function stepAtCursor({ plot, latest: { current } }: KeyedChart): number | undefined {
  const { idx } = plot.cursor;
  const x = idx === null || idx === undefined ? undefined : plot.data[0][idx];
  return x === undefined ? undefined : stepOf(current.curves, current.axis, x);
}

function zoom(direction: 'in' | 'out'): void {
  const [chart] = charts;
  if (chart === undefined) return;
  const { curves } = chart.latest.current;
  const at = stepAtCursor(chart) ?? curves.steps.at(-1) ?? 0;
  const asked = { from: numberParameter('from'), to: numberParameter('to') };
  change({ ...zoomSteps(curves, { at, direction, asked }) }, true);
}

function openStep(): void {
  const [chart] = charts;
  if (chart === undefined) return;
  const step = stepAtCursor(chart);
  if (step !== undefined) chart.latest.current.onOpen(step);
}

export const chartKeys: readonly KeyBinding[] = [
  { keys: ['ArrowLeft'], does: 'Cursor to the point before', run: () => moveCursor(-1) },
  { keys: ['ArrowRight'], does: 'Cursor to the next point', run: () => moveCursor(1) },
  { keys: ['+'], does: 'Zoom in at the cursor', run: () => zoom('in') },
  { keys: ['-'], does: 'Zoom out at the cursor', run: () => zoom('out') },
  { keys: ['Enter'], does: 'Open the step at the cursor', run: openStep },
];
