// Canvas strips of a trajectory: the minimap beside the list, and the waterfall of the turns that are seen.
import type { ApiOutline } from '../data/shapes.ts';
import { minimap, rowAt, type TimeSpan } from '../pages/outline.ts';

const colorOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function prepare(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio;
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  const context = canvas.getContext('2d');
  context?.scale(ratio, ratio);
  return context;
}

interface MinimapView {
  /** Shares of the list that are seen. */
  readonly from: number;
  readonly to: number;
  /** Shares at which something was found. */
  readonly matches: readonly number[];
}

/** Longest turns as bars, the share of failures in red beside them, what is seen as a frame, matches as ticks. */
export function drawMinimap(canvas: HTMLCanvasElement, outline: ApiOutline, view: MinimapView): void {
  const context = prepare(canvas);
  if (context === null) return;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
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
  context.fillStyle = colorOf('--warn');
  for (const match of view.matches) context.fillRect(width - 5, match * height - 1, 5, 2);
  context.strokeStyle = colorOf('--ink');
  context.strokeRect(0.5, view.from * height + 0.5, width - 1, Math.max(4, (view.to - view.from) * height - 1));
}

const HUES = ['--line-1', '--line-2', '--line-3', '--line-4'] as const;

/** Generation by the color of its version, and the tool call behind it; gaps are waiting. */
export function drawWaterfall(
  canvas: HTMLCanvasElement,
  outline: ApiOutline,
  view: { readonly from: number; readonly to: number; readonly span: TimeSpan; readonly rowPx: number },
): void {
  const context = prepare(canvas);
  if (context === null) return;
  const { startMs, endMs } = view.span;
  const x = (ms: number): number => ((ms - startMs) / Math.max(1, endMs - startMs)) * canvas.clientWidth;
  for (let at = view.from; at < view.to; at += 1) {
    const row = rowAt(outline, at);
    const y = (at - view.from) * view.rowPx;
    context.fillStyle = colorOf(HUES[Math.max(0, row.versionMax) % HUES.length] ?? '--line-1');
    context.fillRect(x(row.atMs), y + 6, Math.max(2, x(row.atMs + row.generationMs) - x(row.atMs)), view.rowPx - 18);
    if (row.tool === '') continue;
    context.fillStyle = colorOf(row.failed ? '--bad' : '--dim');
    context.fillRect(x(row.toolAtMs), y + view.rowPx - 12, Math.max(2, x(row.toolAtMs + row.toolMs) - x(row.toolAtMs)), 6);
  }
}
