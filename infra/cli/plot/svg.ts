// Draws charts as SVG: lines over steps or time, with axes, ticks, and a legend. Pure; the same points give the same bytes.
import type { Chart } from './charts.ts';
import type { CurvePoint } from '../../../consumers/curves/curves.ts';
import { smoothed } from './smooth.ts';

const WIDTH = 760;
const HEIGHT = 360;
const INNER = { left: 70, right: 20, top: 46, bottom: 44 } as const;
const COLOURS = ['#1f6feb', '#d9730d', '#2da44e', '#8250df'] as const;
const TICKS = 5;
/** With more points than this, neighbors are averaged. */
const MOST_POINTS = 1_000;

interface SvgPoint {
  readonly x: number;
  readonly y: number;
}

interface Scale {
  readonly low: number;
  readonly high: number;
  at(value: number): number;
}

/** A run and its drawing options. */
export interface DrawnRun {
  readonly run: string;
  /** What a point stands for, for example a step; the label of the horizontal axis unless the axis is time. */
  readonly unit: string;
  /** The horizontal axis: the number of the step (or version), or the time since `beganMs`. */
  readonly axis?: 'step' | 'time';
  /** Ms since 1970; by default the time of the first point. */
  readonly beganMs?: number;
  /** Weight of the previous values, from 0 to below 1; the original lines stay visible behind the smoothed ones. */
  readonly smoothing?: number;
}

/** A chart of a run; without points, the chart says so. */
export function renderChart(chart: Chart, drawn: DrawnRun, points: readonly CurvePoint[]): string {
  const { band: edges } = chart;
  const named = [...chart.lines.map(({ series }) => series), ...(edges === undefined ? [] : [edges.low, edges.high])];
  const shown = thinned(
    points.filter(({ values }) => named.some((name) => values[name] !== undefined)),
    named,
  );
  const all = shown.flatMap(({ values }) => named.flatMap((name) => values[name] ?? []));
  const axis = axisOf({ ...drawn, unit: chart.unit ?? drawn.unit }, shown);
  const x = scaleOf(shown.map(axis.at), [INNER.left, WIDTH - INNER.right], false);
  const y = scaleOf(all, [HEIGHT - INNER.bottom, INNER.top], true);
  const placesOf = (series: string, weight = drawn.smoothing ?? 0): readonly SvgPoint[] => {
    const own = shown.filter(({ values }) => values[series] !== undefined);
    const values = smoothed(
      own.map((point) => point.values[series] ?? 0),
      weight,
    );
    return own.map((point, at) => ({ x: x.at(axis.at(point)), y: y.at(values[at] ?? 0) }));
  };
  const lines = chart.lines.map(({ series }, at) => {
    const raw = (drawn.smoothing ?? 0) > 0 ? `<g stroke-opacity="0.25">${path(placesOf(series, 0), colourOf(at))}</g>` : '';
    return raw + path(placesOf(series), colourOf(at));
  });
  const parts = [
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text({ x: INNER.left, y: 20 }, chart.title, 'font-size="15" font-weight="600"'),
    text({ x: WIDTH - INNER.right, y: 20 }, drawn.run, 'text-anchor="end" fill="#57606a"'),
    ...(shown.length === 0 ? [text({ x: WIDTH / 2, y: HEIGHT / 2 }, 'nothing recorded', 'text-anchor="middle"')] : [axes(x, y, axis)]),
    ...(edges === undefined ? [] : [band(placesOf(edges.low), placesOf(edges.high))]),
    ...lines,
    legend(chart),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, sans-serif" font-size="12" fill="#1f2328">\n${parts.join('\n')}\n</svg>\n`;
}

/** The horizontal axis. */
interface Axis {
  readonly name: string;
  readonly isWhole: boolean;
  readonly at: (point: CurvePoint) => number;
}

/** Units of time, and the maximum of each before a chart uses the next larger one. */
const TIMES = [
  ['seconds', 1_000, 300],
  ['minutes', 60_000, 300],
  ['hours', 3_600_000, 96],
  ['days', 86_400_000, Infinity],
] as const;

function axisOf({ unit, axis = 'step', beganMs }: DrawnRun, shown: readonly CurvePoint[]): Axis {
  if (axis === 'step') return { name: unit, isWhole: true, at: ({ step }) => step };
  const began = beganMs ?? Math.min(...shown.map(({ atMs }) => atMs));
  const span = Math.max(0, ...shown.map(({ atMs }) => atMs)) - began;
  const [name, ms] = TIMES.find(([, size, most]) => span <= size * most) ?? TIMES[0];
  return { name: `${name} since the start`, isWhole: false, at: ({ atMs }) => (atMs - began) / ms };
}

const colourOf = (at: number): string => COLOURS[at % COLOURS.length] ?? COLOURS[0];
const fixed = (value: number): string => value.toFixed(1);

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** Escapes a text for XML. */
export const escapeXml = (raw: string): string => raw.replace(/[&<>"]/g, (found) => escapes[found] ?? '');

const text = ({ x, y }: SvgPoint, content: string, attributes = ''): string =>
  `<text x="${fixed(x)}" y="${fixed(y)}" ${attributes}>${escapeXml(content)}</text>`;

/** Linear scale. A range with a single value is widened; with `fromZero`, the scale of positive values starts at 0. */
function scaleOf(values: readonly number[], [from, to]: readonly [number, number], fromZero: boolean): Scale {
  let [low, high] = extremes(values);
  if (fromZero && low > 0) low = 0;
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  return { low, high, at: (value) => from + ((value - low) / (high - low)) * (to - from) };
}

function extremes(values: readonly number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return low > high ? [0, 1] : [low, high];
}

/** Round numbers that divide a range into about `count` parts. */
export function ticksOf(low: number, high: number, count = TICKS): readonly number[] {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.ceil(low / step);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

function axes(x: Scale, y: Scale, axis: Axis): string {
  const [bottom, right] = [HEIGHT - INNER.bottom, WIDTH - INNER.right];
  const horizontal = ticksOf(y.low, y.high).map((value) => {
    const at = fixed(y.at(value));
    const rule = `<line x1="${INNER.left}" x2="${right}" y1="${at}" y2="${at}" stroke="#d0d7de"/>`;
    return rule + text({ x: INNER.left - 8, y: y.at(value) + 4 }, labelOf(value), 'text-anchor="end"');
  });
  const vertical = ticksOf(x.low, x.high, 8)
    .filter((value) => !axis.isWhole || Number.isInteger(value))
    .map((value) => text({ x: x.at(value), y: bottom + 18 }, labelOf(value), 'text-anchor="middle"'));
  const name = text({ x: (INNER.left + right) / 2, y: HEIGHT - 8 }, axis.name, 'text-anchor="middle" fill="#57606a"');
  return [...horizontal, ...vertical, name].join('\n');
}

function labelOf(value: number): string {
  if (Math.abs(value) >= 1e6) return `${Number((value / 1e6).toPrecision(4))}M`;
  if (Math.abs(value) >= 1e4) return `${Number((value / 1e3).toPrecision(4))}k`;
  return String(value);
}

const joined = (places: readonly SvgPoint[]): string => places.map(({ x, y }) => `${fixed(x)},${fixed(y)}`).join(' ');

const path = (places: readonly SvgPoint[], colour: string): string =>
  places.length === 1
    ? `<circle cx="${fixed(places[0]?.x ?? 0)}" cy="${fixed(places[0]?.y ?? 0)}" r="3" fill="${colour}"/>`
    : `<polyline points="${joined(places)}" fill="none" stroke="${colour}" stroke-width="1.6" stroke-linejoin="round"/>`;

const band = (low: readonly SvgPoint[], high: readonly SvgPoint[]): string =>
  `<polygon points="${joined([...low, ...[...high].reverse()])}" fill="#1f6feb" fill-opacity="0.1"/>`;

function legend({ lines, band: edges }: Chart): string {
  const names = [
    ...lines.map(({ label }, at) => ({ label, colour: colourOf(at) })),
    ...(edges === undefined ? [] : [{ label: edges.label, colour: '#d2e1fb' }]),
  ];
  let x: number = INNER.left;
  return names
    .map(({ label, colour }) => {
      const at = x;
      x += 34 + label.length * 7;
      return `<rect x="${at}" y="29" width="14" height="4" fill="${colour}"/>${text({ x: at + 19, y: 35 }, label)}`;
    })
    .join('\n');
}

function thinned(points: readonly CurvePoint[], names: readonly string[]): readonly CurvePoint[] {
  const size = Math.ceil(points.length / MOST_POINTS);
  if (size <= 1) return points;
  return Array.from({ length: Math.ceil(points.length / size) }, (_, at) => {
    const own = points.slice(at * size, (at + 1) * size);
    const values = names.flatMap((name) => {
      const found = own.flatMap(({ values: one }) => one[name] ?? []);
      return found.length === 0 ? [] : [[name, found.reduce((sum, value) => sum + value, 0) / found.length] as const];
    });
    const { step = 0, atMs = 0 } = own.at(-1) ?? {};
    return { step, atMs, values: Object.fromEntries(values) };
  });
}
