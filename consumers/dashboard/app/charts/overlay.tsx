// One series of several runs over the same steps: a line through the last value of each bucket, and a band from minimum to maximum.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import type { ApiCurves } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { Text } from '../kit/parts.tsx';
import { visible } from '../kit/visible.ts';
import { colorOf, theme } from './colors.ts';
import { alignRuns, bandOf } from './columns.ts';
import { isEmpty } from './figures.ts';

const HEIGHT = 190;
const strokes = ['--line-1', '--line-2', '--line-3', '--line-4', '--good', '--bad'] as const;
const dashes: readonly (readonly number[])[] = [[], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4]];

interface OverlayProps {
  readonly runs: readonly string[];
  /** The curves of each run. */
  readonly curves: readonly ApiCurves[];
  readonly name: string;
}

export function Overlay({ runs, curves, name }: OverlayProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const host = box.current;
    if (host === null) return undefined;
    const plot = new UPlot(optionsFor(curves, name, host.clientWidth), alignRuns(curves, name) as unknown as UPlot.AlignedData, host);
    const watch = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: HEIGHT }));
    watch.observe(host);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [curves, name, theme.value]);
  const title = name.replaceAll('_', ' ');
  const lastOf = (at: number): unknown => curves[at]?.series[name]?.at(-1);
  return (
    <figure class="chart">
      <figcaption>
        <b>{title}</b>
        {runs.map((run, at) => (
          <span key={run} class={`series run-${at + 1}`}>
            <span aria-hidden="true" /> <Text>{run}</Text> <output>{figure(lastOf(at))}</output>
          </span>
        ))}
      </figcaption>
      <div ref={box} role="img" aria-label={`${name}: ${runs.map((run, at) => `${visible(run)} ${figure(lastOf(at))}`).join(', ')}`} />
      {curves.every((one) => isEmpty(one, { title, series: [name] })) && <p class="overlay">Not recorded in these steps.</p>}
    </figure>
  );
}

function optionsFor(curves: readonly ApiCurves[], name: string, width: number): UPlot.Options {
  const axis = {
    stroke: colorOf('--dim'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui',
    size: 26,
  };
  const series: UPlot.Series[] = [{}];
  const bands: UPlot.Band[] = [];
  for (const [at, one] of curves.entries()) {
    const stroke = colorOf(strokes[at] ?? '--line-1');
    const points = { show: false };
    series.push({ stroke, dash: [...(dashes[at] ?? [])], width: 1.5, points, spanGaps: true });
    if (bandOf(one, name).length < 2) continue;
    const low = series.length;
    series.push(...[low, low + 1].map(() => ({ stroke: `${stroke}40`, width: 1, points, spanGaps: true })));
    bands.push({ series: [low + 1, low], fill: `${stroke}26` });
  }
  return {
    ...{ width, height: HEIGHT, legend: { show: false }, scales: { x: { time: false } } },
    cursor: { sync: { key: 'compare', setSeries: false }, drag: { x: false, y: false } },
    axes: [axis, { ...axis, size: 46, values: (_plot, splits) => splits.map((value) => figure(value)) }],
    series,
    bands,
  };
}
