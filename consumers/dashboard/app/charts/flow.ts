// Draws the flow: bars in the color of their first version, the outcome at their right end, publications as lines, and the wait between the
// end of a trajectory and its step as a thin line. A tick is where a trajectory becomes too old, and red is the time after that. Bars that
// end less than half a pixel apart are merged. Lanes that do not fit are scrolled.
import type { ApiFlow } from '../data/watch-shapes.ts';
import { boundOf, firstIn, type FlowLayout } from './flow-layout.ts';
import { fillRects, pixelLayer, pixelOf, type Rects } from './pixels.ts';

interface FlowView {
  readonly fromMs: number;
  readonly toMs: number;
  readonly longestMs: number;
  readonly lanePx: number;
  /** How far the lanes are scrolled, px. */
  readonly scrolledPx: number;
  readonly pointed: number;
  /** Outcomes to emphasize; the others are drawn pale. */
  readonly fates: ReadonlySet<string>;
}

const HUES = ['--line-1', '--line-2', '--line-3', '--line-4'] as const;
const ENDS: Readonly<Record<string, string>> = { discarded: '--warn', lost: '--bad', trained: '--good', collected: '--good' };
const HEAD_PX = 20;
/** Bars that are not wider than this have no room for marks. */
const LEAST_PX = 12;

export const headPx = HEAD_PX;

const colorOf = (style: CSSStyleDeclaration, name: string): string => style.getPropertyValue(name).trim();

interface Pens {
  readonly context: CanvasRenderingContext2D;
  readonly style: CSSStyleDeclaration;
  readonly width: number;
  readonly height: number;
  readonly x: (ms: number) => number;
}

interface Picture {
  readonly flow: ApiFlow;
  readonly layout: FlowLayout;
  readonly view: FlowView;
}

export function drawFlow(canvas: HTMLCanvasElement, picture: Picture): void {
  const { flow, view } = picture;
  const context = canvas.getContext('2d');
  if (context === null) return;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const ratio = devicePixelRatio;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const scale = width / (view.toMs - view.fromMs);
  const pens = { context, style: getComputedStyle(document.documentElement), width, height, x: (ms: number) => (ms - view.fromMs) * scale };
  drawMarks(pens, flow);
  drawSteps(pens, flow);
  drawBars(pens, canvas, picture);
  drawBound(pens, picture);
}

function drawMarks({ context, style, width, height, x }: Pens, flow: ApiFlow): void {
  context.font = '11px system-ui';
  context.strokeStyle = colorOf(style, '--line');
  context.fillStyle = colorOf(style, '--dim');
  context.beginPath();
  let [lastLine, lastText] = [-9, -99];
  for (const [at, ms] of flow.versions.at_ms.entries()) {
    const left = x(ms);
    if (left < 0 || left > width || left - lastLine < 3) continue;
    lastLine = left;
    context.moveTo(left, HEAD_PX - 4);
    context.lineTo(left, height);
    if (left - lastText > 46) {
      context.fillText(`v${flow.versions.numbers[at] ?? ''}`, left + 2, 12);
      lastText = left;
    }
  }
  context.stroke();
}

/** Steps as ticks at the top, where the waits of bars end. */
function drawSteps({ context, style, width, x }: Pens, { steps }: ApiFlow): void {
  context.strokeStyle = colorOf(style, '--good');
  context.lineWidth = 1;
  context.beginPath();
  let last = -9;
  for (const ms of steps.at_ms) {
    const left = x(ms);
    if (left < 0 || left > width || left - last < 2) continue;
    last = left;
    context.moveTo(left, HEAD_PX - 7);
    context.lineTo(left, HEAD_PX);
  }
  context.stroke();
}

/** Shades the time from the start of the hovered bar to the publication that makes it too old to train on. */
function drawBound({ context, style, height, x }: Pens, { flow, view }: Picture): void {
  const until = boundOf(flow, view.pointed);
  if (until === undefined) return;
  const [left, right] = [x(flow.columns['start_ms']?.[view.pointed] ?? 0), x(until)];
  context.fillStyle = colorOf(style, '--warn');
  context.globalAlpha = 0.12;
  context.fillRect(left, HEAD_PX, right - left, height - HEAD_PX);
  context.globalAlpha = 1;
  context.strokeStyle = colorOf(style, '--warn');
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(right, HEAD_PX - 4);
  context.lineTo(right, height);
  context.stroke();
  context.setLineDash([]);
}

/** Rectangles by color, and the rest by kind. Coordinates begin below the head. */
interface Shapes {
  readonly bodies: Map<string, Rects>;
  /** Outcomes. */
  readonly ends: Map<string, Rects>;
  readonly waits: Rects;
  /** Where bars become too old. */
  readonly bounds: Rects;
  /** What is past that. */
  readonly late: Rects;
}

function rectsOf(all: Map<string, Rects>, name: string): Rects {
  const known = all.get(name) ?? [];
  all.set(name, known);
  return known;
}

const barPx = (lanePx: number): number => Math.max(1, lanePx - (lanePx > 4 ? 2 : 0));

/** The top of a lane, from the top of the canvas. */
const topOf = ({ lanePx, scrolledPx }: FlowView, lane: number): number => HEAD_PX + lane * lanePx - scrolledPx;

/** Waits are thinner than a pixel. */
const WAIT_ALPHA = 0.5;

function drawBars(pens: Pens, canvas: HTMLCanvasElement, picture: Picture): void {
  const { context, style, height } = pens;
  const layer = pixelLayer(canvas, height - HEAD_PX);
  if (layer === undefined) return;
  const fill = (rects: Rects, name: string, alpha = 1): void => {
    // a canvas returns any color as #rrggbb
    context.fillStyle = colorOf(style, name);
    fillRects(layer.grid, rects, pixelOf(context.fillStyle, alpha));
  };
  const { bodies, ends, waits, bounds, late } = shapesOf(pens, picture);
  fill(waits, '--dim', WAIT_ALPHA);
  for (const colors of [bodies, ends]) for (const [name, rects] of colors) fill(rects, name);
  fill(late, '--bad');
  fill(bounds, '--warn');
  layer.draw(context, HEAD_PX);
  if (picture.view.pointed >= 0) frame(pens, picture);
}

function frame({ context, style, width, height, x }: Pens, { flow, layout, view }: Picture): void {
  const left = x(flow.columns['start_ms']?.[view.pointed] ?? 0);
  const right = x(layout.ends[view.pointed] ?? 0);
  const top = topOf(view, layout.laneOf[view.pointed] ?? 0);
  context.save();
  context.beginPath();
  context.rect(0, HEAD_PX, width, height - HEAD_PX);
  context.clip();
  context.strokeStyle = colorOf(style, '--ink');
  context.strokeRect(left - 1, top - 1, Math.max(3, right - left) + 2, barPx(view.lanePx) + 2);
  context.restore();
}

const valueAt = (values: ArrayLike<number> | undefined, at: number): number => values?.[at] ?? 0;

function shapesOf({ height, x }: Pens, { flow, layout, view }: Picture): Shapes {
  const shapes: Shapes = { bodies: new Map(), ends: new Map(), waits: [], bounds: [], late: [] };
  const starts = flow.columns['start_ms'] ?? [];
  /** Where the last bar of each lane ended, px. */
  const drawn = new Float64Array(layout.lanes).fill(-1);
  for (let at = firstIn(starts, view.fromMs, view.longestMs); at < starts.length; at += 1) {
    const start = valueAt(starts, at);
    if (start > view.toMs) break;
    const lane = valueAt(layout.laneOf, at);
    const top = topOf(view, lane);
    if (top > height || top + view.lanePx < HEAD_PX) continue;
    const right = x(valueAt(layout.ends, at));
    if (right < Math.max(0, valueAt(drawn, lane) + 0.5)) continue;
    drawn[lane] = right;
    const [until, bound] = [x(valueAt(flow.columns['decided_ms'], at)), x(valueAt(layout.bounds, at))];
    addBar(shapes, { flow, at, view }, { left: x(start), right, top: top - HEAD_PX, until, bound });
  }
  return shapes;
}

interface BarPlace {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  /** Where the wait of the bar ends. */
  readonly until: number;
  /** Where the bar becomes too old. */
  readonly bound: number;
}

function addBar(
  shapes: Shapes,
  { flow, at, view }: { readonly flow: ApiFlow; readonly at: number; readonly view: FlowView },
  place: BarPlace,
): void {
  const { bodies, ends, waits } = shapes;
  const { left, right, top, until } = place;
  const fate = flow.fates[valueAt(flow.columns['fate'], at)] ?? '';
  const isShown = view.fates.has(fate);
  const version = Math.max(0, valueAt(flow.columns['version_first'], at));
  const bar = barPx(view.lanePx);
  const color = isShown ? (HUES[version % HUES.length] ?? '--line-1') : '--line';
  rectsOf(bodies, color).push(left, top, right - left, bar);
  const mark = ENDS[fate];
  if (mark !== undefined && right - left > LEAST_PX && isShown) rectsOf(ends, mark).push(right - 3, top, 3, bar);
  if (until >= right + 1 && view.lanePx > 5) waits.push(right, top + bar / 2, until - right, 0);
  if (isShown) addBound(shapes, place, bar);
}

/** Marks where a bar becomes too old, if there is room, and what is past that at any zoom. */
function addBound({ bounds, late }: Shapes, { left, right, top, until, bound }: BarPlace, bar: number): void {
  const [from, end] = [Math.max(left, bound), Math.max(right, until)];
  const high = Math.max(1, bar / 2);
  if (end - from >= 0.5) late.push(from, top + bar - high, end - from, high);
  if (right - left <= LEAST_PX || bound === Infinity) return;
  bounds.push(bound, top - 1, 1, bar + 2);
}
