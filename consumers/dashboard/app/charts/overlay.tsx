// One series of several runs over the same steps.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { useAnswer } from '../data/answers.ts';
import type { ApiCurves } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { colorOf } from './colors.ts';
import { alignRuns } from './columns.ts';

const HEIGHT = 190;
const POINTS = 300;
const strokes = ['--line-1', '--line-2', '--line-3', '--line-4', '--good', '--bad'] as const;
const dashes: readonly (readonly number[])[] = [[], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4]];

export function Overlay({ runs, name }: { readonly runs: readonly string[]; readonly name: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const shown = runs.map((run) => useAnswer<ApiCurves>(`/v1/runs/${encodeURIComponent(run)}/curves?points=${POINTS}&series=${name}`));
  const curves = shown.map(({ value }) => value);
  const ready = curves.every((one) => one !== undefined);
  useEffect(() => {
    const host = box.current;
    if (host === null || !ready) return undefined;
    const axis = {
      stroke: colorOf('--dim'),
      grid: { stroke: colorOf('--line'), width: 1 },
      ticks: { show: false },
      font: '11px system-ui',
      size: 26,
    };
    const plot = new UPlot(
      {
        ...{ width: host.clientWidth, height: HEIGHT, legend: { show: false }, scales: { x: { time: false } } },
        cursor: { sync: { key: 'compare', setSeries: false }, drag: { x: false, y: false } },
        axes: [axis, { ...axis, size: 46, values: (_plot, splits) => splits.map((value) => figure(value)) }],
        series: [
          {},
          ...runs.map((_, at) => ({
            stroke: colorOf(strokes[at] ?? '--line-1'),
            dash: [...(dashes[at] ?? [])],
            width: 1.5,
            points: { show: false },
            spanGaps: true,
          })),
        ],
      },
      alignRuns(curves, name) as unknown as UPlot.AlignedData,
      host,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: HEIGHT }));
    watch.observe(host);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [ready, ...curves]);
  const lastOf = (at: number): unknown => curves[at]?.series[name]?.at(-1);
  return (
    <figure class="chart">
      <figcaption>
        <b>{name.replaceAll('_', ' ')}</b>
        {runs.map((run, at) => (
          <span key={run} class={`series run-${at + 1}`}>
            <span aria-hidden="true" /> {run} <output>{figure(lastOf(at))}</output>
          </span>
        ))}
      </figcaption>
      <div ref={box} role="img" aria-label={`${name}: ${runs.map((run, at) => `${run} ${figure(lastOf(at))}`).join(', ')}`} />
      {shown.find(({ problem }) => problem !== undefined) !== undefined && <p class="overlay">Some of the runs could not be read.</p>}
    </figure>
  );
}
