// One chart of a run: a line through the last value of each bucket and a band from minimum to maximum, and the same, dashed and paler, for
// other runs. All charts of a page share a cursor; dragging and keys zoom, and the range is in the address. New data is passed to the
// existing plot, which draws once per frame.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import type { ApiCurves } from '../data/shapes.ts';
import type { ApiOutage } from '../data/watch-shapes.ts';
import { figure } from '../kit/format.ts';
import { visible } from '../kit/visible.ts';
import { addKeyedChart } from './chart-keys.ts';
import { colorOf, theme } from './colors.ts';
import { columnsOf, placeOfStep, placesOf, stepOf, stepsBetween } from './columns.ts';
import { evaluatedAt, isEmpty, lastValueOf, type ChartAxis, type ChartSpec } from './figures.ts';

const HEIGHT = 168;
const SYNC = 'steps';
const colors = ['--line-1', '--line-2', '--line-3'] as const;
const dashes: readonly (readonly number[])[] = [
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
];

export interface OtherCurves {
  readonly run: string;
  readonly curves: ApiCurves;
}

interface ChartProps {
  readonly curves: ApiCurves;
  readonly spec: ChartSpec;
  readonly onZoom: (from: number, to: number) => void;
  readonly onOpen: (step: number) => void;
  readonly axis?: ChartAxis;
  readonly others?: readonly OtherCurves[];
  /** Steps during outages of a tool. */
  readonly outages?: readonly ApiOutage[];
}

const none: readonly never[] = [];

export function Chart({ curves, spec, onZoom, onOpen, axis = 'step', others = none, outages = none }: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const drawn = useRef<UPlot.AlignedData | undefined>(undefined);
  const latest = useRef<Shown>({ onZoom, onOpen, outages, curves, axis });
  latest.current = { onZoom, onOpen, outages, curves, axis };
  const data = useMemo(
    () => columnsOf({ own: curves, others: others.map((one) => one.curves) }, spec, axis) as unknown as UPlot.AlignedData,
    [curves, others, spec, axis],
  );
  useEffect(() => {
    const host = box.current;
    if (host === null) return undefined;
    const made = new UPlot(optionsOf(spec, { width: host.clientWidth, axis, others: others.length }, latest), data, host);
    plot.current = made;
    drawn.current = data;
    const watch = new ResizeObserver(() => {
      if (host.clientWidth !== made.width) made.setSize({ width: host.clientWidth, height: HEIGHT });
    });
    watch.observe(host);
    const remove = addKeyedChart({ plot: made, latest });
    return () => {
      remove();
      watch.disconnect();
      made.destroy();
    };
  }, [spec, axis, others.length, theme.value]);
  useEffect(() => {
    if (drawn.current !== data) plot.current?.setData(data);
    drawn.current = data;
  }, [data]);
  const shaded = useRef(outages);
  useEffect(() => {
    if (shaded.current !== outages) plot.current?.redraw(false);
    shaded.current = outages;
  }, [outages]);
  return <Figure box={box} {...{ curves, spec, others }} />;
}

function Figure({
  box,
  curves,
  spec,
  others,
}: Pick<ChartProps, 'curves' | 'spec'> & {
  readonly box: { current: HTMLDivElement | null };
  readonly others: readonly OtherCurves[];
}): JSX.Element {
  const last = curves.steps.length - 1;
  const lastOf = (name: string): string => figure(lastValueOf(curves, spec, name));
  const said = spec.series.map((name) => `${name} ${lastOf(name)}`).join(', ');
  return (
    <figure class="chart">
      <figcaption>
        <b>{spec.title}</b>
        {spec.series.map((name, at) => (
          <span key={name} class={`series line-${at + 1}`}>
            <span aria-hidden="true" /> {name.replaceAll('_', ' ')} <output>{lastOf(name)}</output>
          </span>
        ))}
        {others.map(({ run }, at) => (
          <span key={run} class="series">
            {['╌', '┈', '╴'][at]} {visible(run)}
          </span>
        ))}
      </figcaption>
      <div ref={box} role="img" aria-label={`${spec.title}: ${said} at step ${curves.steps[last] ?? 0}`} />
      {isEmpty(curves, spec) && <p class="overlay">Not recorded in these steps.</p>}
    </figure>
  );
}

interface Shown extends Pick<ChartProps, 'onZoom' | 'onOpen' | 'curves'> {
  readonly outages: readonly ApiOutage[];
  readonly axis: ChartAxis;
}

interface Latest {
  readonly current: Shown;
}

interface PlotSize {
  readonly width: number;
  readonly axis: ChartAxis;
  /** Other runs to draw. */
  readonly others: number;
}

function optionsOf(spec: ChartSpec, { width, axis: over, others }: PlotSize, latest: Latest): UPlot.Options {
  const [ink, grid] = [colorOf('--dim'), colorOf('--line')];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '11px system-ui', size: 26 };
  const lines = spec.series.map((_, at) => colorOf(colors[at] ?? colors[0]));
  const points = { show: spec.sparse === true, size: 5 };
  const fills = ['40', ...Array.from({ length: others }, () => '1a')].flatMap((alpha) => lines.map((stroke) => `${stroke}${alpha}`));
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 20, 0, 0],
    cursor: {
      sync: { key: SYNC, setSeries: false },
      drag: { x: true, y: false, setScale: false },
      bind: { dblclick: () => () => null },
    },
    scales: { x: { time: over === 'time' }, y: { range: (_plot, low, high) => rangeOf(low, high, spec.from) } },
    // the year goes on a second line below the times
    axes: [
      { ...axis, size: over === 'time' ? 38 : 26 },
      { ...axis, size: 46, values: (_plot, splits) => splits.map((value) => figure(value)) },
    ],
    series: [
      {},
      ...lines.flatMap((stroke) => [
        { stroke, width: 1.5, points, spanGaps: spec.sparse === true },
        { stroke: `${stroke}80`, width: 1, points: { show: false } },
        { stroke: `${stroke}80`, width: 1, points: { show: false } },
      ]),
      ...Array.from({ length: others }, (_, at) => lines.flatMap((stroke) => seriesOfOther(stroke, at))).flat(),
    ],
    bands: fills.map((fill, at) => ({ series: [3 + 3 * at, 2 + 3 * at] as [number, number], fill })),
    hooks: {
      drawClear: [(plot) => shade(plot, latest.current), (plot) => markEvaluations(plot, latest.current)],
      setSelect: [(plot) => zoomTo(plot, latest)],
      setCursor: [(plot) => showValues(plot, spec, latest.current)],
      ready: [(plot) => openOnClick(plot, latest)],
    },
  };
}

/** Last, minimum, and maximum of another run. */
function seriesOfOther(stroke: string, at: number): UPlot.Series[] {
  const edge = { stroke: `${stroke}40`, width: 1, points: { show: false }, spanGaps: true };
  return [{ stroke, width: 1.25, dash: [...(dashes[at] ?? [])], points: { show: false }, spanGaps: true }, edge, edge];
}

function rangeOf(low: number | null, high: number | null, from: number | undefined): [number, number] {
  const [bottom, top] = [Math.min(low ?? 0, from ?? Infinity), Math.max(high ?? 1, from ?? -Infinity)];
  const room = (top - bottom || Math.abs(top) || 1) * 0.06;
  return [from === undefined ? bottom - room : bottom, top + room];
}

function zoomTo(plot: UPlot, { current }: Latest): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  const range = [plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')] as const;
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  current.onZoom(...stepsBetween(current.curves, current.axis, range));
}

/** Draws a line at each evaluated version. */
function markEvaluations(plot: UPlot, { curves, axis }: Shown): void {
  const { ctx, bbox } = plot;
  const marks = evaluatedAt(curves);
  if (marks.length === 0) return;
  const values = placesOf(curves, axis);
  ctx.save();
  ctx.strokeStyle = colorOf('--line-4');
  ctx.setLineDash([2, 4]);
  ctx.beginPath();
  for (const at of marks) {
    const x = plot.valToPos(values[at] ?? 0, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
  }
  ctx.stroke();
  ctx.restore();
}

/** Hatches outages of tools, so that a drop in reward can be related to them. */
function shade(plot: UPlot, { outages, curves, axis }: Shown): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colorOf('--bad');
  ctx.globalAlpha = 0.35;
  for (const { from_step, to_step } of outages) {
    if (from_step < 0 || curves.steps.length === 0) continue;
    const left = Math.max(bbox.left, plot.valToPos(placeOfStep(curves, axis, from_step), 'x', true));
    const right = Math.min(bbox.left + bbox.width, Math.max(plot.valToPos(placeOfStep(curves, axis, to_step), 'x', true), left + 2));
    if (right <= bbox.left || left >= bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.rect(left, bbox.top, right - left, bbox.height);
    ctx.save();
    ctx.clip();
    ctx.beginPath();
    for (let x = left - bbox.height; x < right; x += 6) {
      ctx.moveTo(x, bbox.top + bbox.height);
      ctx.lineTo(x + bbox.height, bbox.top);
    }
    ctx.stroke();
    ctx.restore();
  }
  ctx.restore();
}

/** Shows the values under the cursor in the caption, and the last ones without a cursor. */
function showValues(plot: UPlot, spec: ChartSpec, { curves, axis }: Shown): void {
  const figureBox = plot.root.closest('figure');
  if (figureBox === null) return;
  const { idx } = plot.cursor;
  for (const [index, output] of [...figureBox.querySelectorAll('output')].entries()) {
    const value = typeof idx === 'number' ? plot.data[1 + 3 * index]?.[idx] : lastValueOf(curves, spec, spec.series[index] ?? '');
    // the text node stays the one that Preact updates
    if (output.firstChild instanceof Text) output.firstChild.data = figure(value);
  }
  figureBox.dataset['step'] =
    idx === null || idx === undefined ? '' : `step ${stepsBetween(curves, axis, [plot.data[0][idx] ?? 0, plot.data[0][idx] ?? 0])[1]}`;
}

function openOnClick(plot: UPlot, latest: Latest): void {
  let down = 0;
  plot.over.addEventListener('mousedown', ({ clientX }) => (down = clientX));
  plot.over.addEventListener('click', ({ clientX }) => {
    const { idx } = plot.cursor;
    const x = idx === null || idx === undefined ? undefined : plot.data[0][idx];
    if (x === undefined || Math.abs(clientX - down) >= 3) return;
    const { curves, axis, onOpen } = latest.current;
    onOpen(stepOf(curves, axis, x));
  });
}
