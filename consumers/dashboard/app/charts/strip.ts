// Canvas strips of a trajectory: the minimap beside the list, and the waterfall of the visible turns.
import type { ApiOutline } from '../data/shapes.ts';
import { colorOf } from './colors.ts';
import { minimap, rowAt, segmentsOf, type TimeSpan } from '../pages/outline.ts';

export interface CanvasSize {
  readonly width: number;
  readonly height: number;
}

/** Resizes a canvas to its displayed size. Setting the size clears it, so this happens only on a change. */
function prepare(canvas: HTMLCanvasElement, { width, height }: CanvasSize): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio;
  const [across, down] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  const context = canvas.getContext('2d');
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}

/** The longest turns as bars with the share of failures in red, drawn once to an offscreen canvas. */
export function drawMinimapBase(outline: ApiOutline, size: CanvasSize): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  const context = prepare(canvas, size);
  if (context === null) return canvas;
  const { width, height } = size;
  const cells = minimap(outline, height);
  const most = Math.max(1, ...cells.map(({ ms }) => ms));
  const px = height / cells.length;
  const room = px > 3 ? px - 1 : px;
  context.fillStyle = colorOf('--line-1');
  for (const [at, { ms }] of cells.entries())
    context.fillRect(0, at * px, Math.max(2, (width - 14) * Math.sqrt(ms / most)), Math.max(1, room));
  context.fillStyle = colorOf('--bad');
  for (const [at, { failed }] of cells.entries()) {
    if (failed > 0) context.fillRect(width - 13, at * px, Math.max(2, 7 * Math.min(1, failed)), Math.max(1, room));
  }
  return canvas;
}

interface MinimapView extends CanvasSize {
  readonly base: HTMLCanvasElement;
  /** The visible part of the list, as fractions. */
  readonly from: number;
  readonly to: number;
  /** Positions of search matches, as fractions. */
  readonly matches: readonly number[];
}

/** Draws the visible part as a frame and matches as ticks over the base. */
export function drawMinimap(canvas: HTMLCanvasElement, view: MinimapView): void {
  const context = prepare(canvas, view);
  if (context === null) return;
  const { width, height } = view;
  if (view.base.width > 1) context.drawImage(view.base, 0, 0, width, height);
  context.fillStyle = colorOf('--warn');
  for (const match of view.matches) context.fillRect(width - 5, match * height - 1, 5, 2);
  context.strokeStyle = colorOf('--ink');
  context.strokeRect(0.5, view.from * height + 0.5, width - 1, Math.max(4, (view.to - view.from) * height - 1));
}

const HUES = ['--line-1', '--line-2', '--line-3', '--line-4'] as const;

/** Opacity of the time in a queue. */
const QUEUED = 0.35;

interface WaterfallView {
  readonly from: number;
  readonly to: number;
  /** The times at the left and right edge. */
  readonly span: TimeSpan;
  readonly rowPx: number;
}

/** Generation in the color of its version, followed by the tool call; the time in a queue is paler, and gaps are other waiting time. */
export function drawWaterfall(canvas: HTMLCanvasElement, outline: ApiOutline, view: WaterfallView): void {
  const width = canvas.clientWidth;
  const context = prepare(canvas, { width, height: (view.to - view.from) * view.rowPx });
  if (context === null) return;
  const { startMs, endMs } = view.span;
  const x = (ms: number): number => ((ms - startMs) / Math.max(1, endMs - startMs)) * width;
  for (let at = view.from; at < view.to; at += 1) {
    const row = rowAt(outline, at);
    const y = (at - view.from) * view.rowPx;
    const hue = HUES[Math.max(0, row.versionMax) % HUES.length] ?? '--line-1';
    for (const { of, isQueued, fromMs, toMs } of segmentsOf(row)) {
      const [top, height] = of === 'tool' ? [y + view.rowPx - 12, 6] : [y + 6, view.rowPx - 18];
      context.globalAlpha = isQueued ? QUEUED : 1;
      context.fillStyle = colorOf(of === 'generation' ? hue : row.failed ? '--bad' : '--dim');
      context.fillRect(x(fromMs), top, Math.max(2, x(toMs) - x(fromMs)), height);
    }
  }
  context.globalAlpha = 1;
}
