// Draws the flow: bars by the version that they began with, what became of them by their right end, publications as lines, and the
// wait between the end of a trajectory and its step as a thin line. One pass a color; bars below a pixel are drawn once a pixel.
import type { Flow } from '../data/watch-shapes.ts';
import { endOf, firstIn, type FlowLayout } from './flow-layout.ts';

export interface FlowView {
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
  readonly longestMs: number;
  readonly lanePx: number;
  readonly topLane: number;
  readonly pointed: number;
  /** Fates that are drawn; the others are pale. */
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

export function drawFlow(canvas: HTMLCanvasElement, flow: Flow, layout: FlowLayout, view: FlowView): void {
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
  drawBars(pens, flow, { layout, view });
}

function drawMarks({ context, style, width, height, x }: Pens, flow: Flow): void {
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

/** Bars of one color each, so that the pen changes a few times only. */
function drawBars(pens: Pens, flow: Flow, { layout, view }: { readonly layout: FlowLayout; readonly view: FlowView }): void {
  const { context, style, height, x } = pens;
  const starts = flow.columns['start_ms'] ?? [];
  const versions = flow.columns['version_first'] ?? [];
  const fates = flow.columns['fate'] ?? [];
  const decided = flow.columns['decided_ms'] ?? [];
  const bodies = new Map<string, Path2D>();
  const ends = new Map<string, Path2D>();
  const drawn = new Map<number, number>();
  const pathOf = (paths: Map<string, Path2D>, name: string): Path2D => {
    const known = paths.get(name) ?? new Path2D();
    paths.set(name, known);
    return known;
  };
  const waits = new Path2D();
  const bar = Math.max(1, view.lanePx - (view.lanePx > 4 ? 2 : 0));
  for (let at = firstIn(starts, view.fromMs, view.longestMs); at < starts.length; at += 1) {
    const start = starts[at] ?? 0;
    if (start > view.toMs) break;
    const lane = (layout.laneOf[at] ?? 0) - view.topLane;
    const y = HEAD_PX + lane * view.lanePx;
    if (lane < 0 || y > height) continue;
    const end = endOf(flow, at, view.nowMs);
    const [left, right] = [x(start), x(end)];
    if (right < 0 || right < (drawn.get(lane) ?? -1) + 0.5) continue;
    drawn.set(lane, right);
    const fate = flow.fates[fates[at] ?? 0] ?? '';
    const color = view.fates.has(fate) ? (HUES[Math.max(0, versions[at] ?? 0) % HUES.length] ?? '--line-1') : '--line';
    pathOf(bodies, color).rect(left, y, Math.max(1, right - left), bar);
    const mark = ENDS[fate];
    if (mark !== undefined && right - left > 3 && view.fates.has(fate)) pathOf(ends, mark).rect(right - 3, y, 3, bar);
    const until = decided[at] ?? 0;
    if (until > end && view.lanePx > 5) {
      waits.moveTo(right, y + bar / 2);
      waits.lineTo(x(until), y + bar / 2);
    }
  }
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
  if (view.pointed >= 0) {
    const left = x(starts[view.pointed] ?? 0);
    const right = x(endOf(flow, view.pointed, view.nowMs));
    context.strokeStyle = colorOf(style, '--ink');
    context.strokeRect(
      left - 1,
      HEAD_PX + ((layout.laneOf[view.pointed] ?? 0) - view.topLane) * view.lanePx - 1,
      Math.max(3, right - left) + 2,
      bar + 2,
    );
  }
}
