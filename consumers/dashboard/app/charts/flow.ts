// Draws the flow: bars in the color of their first version, the outcome at their right end, publications as lines, and the wait between the
// end of a trajectory and its step as a thin line. Drawn in one pass per color; bars narrower than a pixel are merged.
import type { ApiFlow } from '../data/watch-shapes.ts';
import { boundOf, firstIn, type FlowLayout } from './flow-layout.ts';

interface FlowView {
  readonly fromMs: number;
  readonly toMs: number;
  readonly longestMs: number;
  readonly lanePx: number;
  readonly pointed: number;
  /** Outcomes to emphasize; the others are drawn pale. */
  readonly fates: ReadonlySet<string>;
}

const HUES = ['--line-1', '--line-2', '--line-3', '--line-4'] as const;
const ENDS: Readonly<Record<string, string>> = { discarded: '--warn', lost: '--bad', trained: '--good' };
const HEAD_PX = 20;

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
  drawBars(pens, picture);
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

/** Bars by color, their ends by outcome, and waits, so that the pen rarely changes. */
interface Shapes {
  readonly bodies: Map<string, Path2D>;
  readonly ends: Map<string, Path2D>;
  readonly waits: Path2D;
}

function pathOf(paths: Map<string, Path2D>, name: string): Path2D {
  const known = paths.get(name) ?? new Path2D();
  paths.set(name, known);
  return known;
}

const barPx = (lanePx: number): number => Math.max(1, lanePx - (lanePx > 4 ? 2 : 0));

function drawBars(pens: Pens, picture: Picture): void {
  const { context, style } = pens;
  const { bodies, ends, waits } = shapesOf(pens, picture);
  context.strokeStyle = colorOf(style, '--dim');
  context.lineWidth = 0.5;
  context.stroke(waits);
  context.lineWidth = 1;
  for (const paths of [bodies, ends]) {
    for (const [name, path] of paths) {
      context.fillStyle = colorOf(style, name);
      context.fill(path);
    }
  }
  if (picture.view.pointed >= 0) frame(pens, picture);
}

function frame({ context, style, x }: Pens, { flow, layout, view }: Picture): void {
  const left = x(flow.columns['start_ms']?.[view.pointed] ?? 0);
  const right = x(layout.ends[view.pointed] ?? 0);
  const top = HEAD_PX + (layout.laneOf[view.pointed] ?? 0) * view.lanePx;
  context.strokeStyle = colorOf(style, '--ink');
  context.strokeRect(left - 1, top - 1, Math.max(3, right - left) + 2, barPx(view.lanePx) + 2);
}

function shapesOf({ height, x }: Pens, { flow, layout, view }: Picture): Shapes {
  const shapes: Shapes = { bodies: new Map(), ends: new Map(), waits: new Path2D() };
  const starts = flow.columns['start_ms'] ?? [];
  /** Where the last bar of each lane ended, px. */
  const drawn = new Float64Array(layout.lanes).fill(-1);
  for (let at = firstIn(starts, view.fromMs, view.longestMs); at < starts.length; at += 1) {
    const start = starts[at] ?? 0;
    if (start > view.toMs) break;
    const lane = layout.laneOf[at] ?? 0;
    const top = HEAD_PX + lane * view.lanePx;
    const right = x(layout.ends[at] ?? 0);
    if (top > height || right < 0 || right < (drawn[lane] ?? 0) + 0.5) continue;
    drawn[lane] = right;
    addBar(shapes, { flow, at, view }, { left: x(start), right, top, until: x(flow.columns['decided_ms']?.[at] ?? 0) });
  }
  return shapes;
}

function addBar(
  { bodies, ends, waits }: Shapes,
  { flow, at, view }: { readonly flow: ApiFlow; readonly at: number; readonly view: FlowView },
  { left, right, top, until }: { readonly left: number; readonly right: number; readonly top: number; readonly until: number },
): void {
  const fate = flow.fates[flow.columns['fate']?.[at] ?? 0] ?? '';
  const isShown = view.fates.has(fate);
  const version = Math.max(0, flow.columns['version_first']?.[at] ?? 0);
  const bar = barPx(view.lanePx);
  const color = isShown ? (HUES[version % HUES.length] ?? '--line-1') : '--line';
  pathOf(bodies, color).rect(left, top, Math.max(1, right - left), bar);
  const mark = ENDS[fate];
  if (mark !== undefined && right - left > 12 && isShown) pathOf(ends, mark).rect(right - 3, top, 3, bar);
  if (until > right && view.lanePx > 5) {
    waits.moveTo(right, top + bar / 2);
    waits.lineTo(until, top + bar / 2);
  }
}
