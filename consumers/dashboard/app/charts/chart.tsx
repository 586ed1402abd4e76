// One chart of a run over its steps: a line through the last value of each bucket and a band from its least to its most. All
// charts of a page share their cursor; a drag zooms, and the range is in the address.
import type { JSX } from 'preact';
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import type { ApiCurves } from '../data/shapes.ts';
import type { ApiOutage } from '../data/watch-shapes.ts';
import { figure } from '../kit/format.ts';
import { columnsOf, isEmpty, type ChartSpec } from './figures.ts';

const HEIGHT = 168;
const SYNC = 'steps';
const colors = ['--line-1', '--line-2', '--line-3'] as const;

/** Changes when the colors of the page do. */
const theme = signal(0);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => (theme.value += 1));

const colorOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

interface ChartProps {
  readonly curves: ApiCurves;
  readonly spec: ChartSpec;
  readonly onZoom: (from: number, to: number) => void;
  readonly onOpen: (step: number) => void;
  /** Steps while a tool was out. */
  readonly outages?: readonly ApiOutage[];
}

export function Chart({ curves, spec, onZoom, onOpen, outages = [] }: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const latest = useRef({ onZoom, onOpen, outages });
  latest.current = { onZoom, onOpen, outages };
  const data = columnsOf(curves, spec) as UPlot.AlignedData;
  useEffect(() => {
    const host = box.current;
    if (host === null) return undefined;
    const made = new UPlot(optionsOf(spec, host.clientWidth, latest), data, host);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: host.clientWidth, height: HEIGHT }));
    watch.observe(host);
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, [spec, theme.value]);
  useEffect(() => plot.current?.setData(data), [curves, outages]);
  const last = curves.steps.length - 1;
  const said = spec.series.map((name) => `${name} ${figure(curves.series[name]?.[last])}`).join(', ');
  return (
    <figure class="chart">
      <figcaption>
        <b>{spec.title}</b>
        {spec.series.map((name, at) => (
          <span key={name} class={`series line-${at + 1}`}>
            <span aria-hidden="true" /> {name.replaceAll('_', ' ')} <output>{figure(curves.series[name]?.[last])}</output>
          </span>
        ))}
      </figcaption>
      <div ref={box} role="img" aria-label={`${spec.title}: ${said} at step ${curves.steps[last] ?? 0}`} />
      {isEmpty(curves, spec) && <p class="overlay">Not recorded in these steps.</p>}
    </figure>
  );
}

interface Latest {
  readonly current: Pick<ChartProps, 'onZoom' | 'onOpen'> & { readonly outages: readonly ApiOutage[] };
}

function optionsOf(spec: ChartSpec, width: number, latest: Latest): UPlot.Options {
  const [ink, grid] = [colorOf('--dim'), colorOf('--line')];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '11px system-ui', size: 26 };
  const lines = spec.series.map((_, at) => colorOf(colors[at] ?? colors[0]));
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
    scales: { x: { time: false }, y: { range: (_plot, low, high) => rangeOf(low, high, spec.from) } },
    axes: [axis, { ...axis, size: 46, values: (_plot, splits) => splits.map((value) => figure(value)) }],
    series: [
      {},
      ...lines.flatMap((stroke) => [
        { stroke, width: 1.5, points: { show: false }, spanGaps: false },
        { stroke: `${stroke}80`, width: 1, points: { show: false } },
        { stroke: `${stroke}80`, width: 1, points: { show: false } },
      ]),
    ],
    bands: lines.map((stroke, at) => ({ series: [3 + 3 * at, 2 + 3 * at] as [number, number], fill: `${stroke}40` })),
    hooks: {
      drawClear: [(plot) => shade(plot, latest.current.outages)],
      setSelect: [(plot) => zoomTo(plot, latest)],
      setCursor: [showValues],
      ready: [(plot) => openOnClick(plot, latest)],
    },
  };
}

function rangeOf(low: number | null, high: number | null, from: number | undefined): [number, number] {
  const [bottom, top] = [Math.min(low ?? 0, from ?? Infinity), Math.max(high ?? 1, from ?? -Infinity)];
  const room = (top - bottom || Math.abs(top) || 1) * 0.06;
  return [from === undefined ? bottom - room : bottom, top + room];
}

function zoomTo(plot: UPlot, latest: Latest): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  const [from, to] = [plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')];
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  latest.current.onZoom(Math.max(0, Math.floor(from)), Math.ceil(to));
}

/** Hatched where a tool was out, so that a fall of the reward beside it is seen. */
function shade(plot: UPlot, outages: readonly ApiOutage[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colorOf('--bad');
  ctx.globalAlpha = 0.35;
  for (const { from_step, to_step } of outages) {
    if (from_step < 0) continue;
    const left = Math.max(bbox.left, plot.valToPos(from_step, 'x', true));
    const right = Math.min(bbox.left + bbox.width, Math.max(plot.valToPos(to_step, 'x', true), left + 2));
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

/** The values under the cursor stand in the caption. */
function showValues(plot: UPlot): void {
  const figureBox = plot.root.closest('figure');
  if (figureBox === null) return;
  const at = plot.cursor.idx ?? plot.data[0].length - 1;
  for (const [index, output] of [...figureBox.querySelectorAll('output')].entries())
    output.textContent = figure(plot.data[1 + 3 * index]?.[at]);
  figureBox.dataset['step'] = plot.cursor.idx === null || plot.cursor.idx === undefined ? '' : `step ${plot.data[0][at] ?? ''}`;
}

function openOnClick(plot: UPlot, latest: Latest): void {
  let down = 0;
  plot.over.addEventListener('mousedown', ({ clientX }) => (down = clientX));
  plot.over.addEventListener('click', ({ clientX }) => {
    const step = plot.cursor.idx === null || plot.cursor.idx === undefined ? undefined : plot.data[0][plot.cursor.idx];
    if (step !== undefined && Math.abs(clientX - down) < 3) latest.current.onOpen(step);
  });
}
