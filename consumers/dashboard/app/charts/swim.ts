// Lanes of workers, colored by policy version, and strips of figures over admissions.
import type { ApiSync } from '../data/watch-shapes.ts';
import { visible } from '../kit/visible.ts';

interface Swim {
  readonly workers: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
  /** From the first turn with a version to the first turn with the next. */
  readonly spans: readonly { readonly lane: number; readonly version: number; readonly fromMs: number; readonly toMs: number }[];
  readonly published: readonly { readonly version: number; readonly atMs: number }[];
}

export function swimOf(items: readonly ApiSync[]): Swim {
  const workers = [...new Set(items.map(({ worker_id }) => worker_id))].sort();
  const spans = workers.flatMap((worker, lane) => {
    const own = items
      .filter(({ worker_id }) => worker_id === worker)
      .sort((a, b) => Date.parse(a.first_turn_at) - Date.parse(b.first_turn_at));
    return own.map(({ version, first_turn_at, last_turn_at }, at) => {
      const next = own[at + 1];
      const toMs = next === undefined ? Date.parse(last_turn_at) : Date.parse(next.first_turn_at);
      return { lane, version, fromMs: Date.parse(first_turn_at), toMs };
    });
  });
  const seen = new Map<number, number>();
  for (const { version, published_at } of items) if (published_at !== null) seen.set(version, Date.parse(published_at));
  const published = [...seen].map(([version, atMs]) => ({ version, atMs }));
  const times = [...spans.flatMap(({ fromMs, toMs }) => [fromMs, toMs]), ...published.map(({ atMs }) => atMs)];
  return { workers, spans, published, fromMs: Math.min(...times), toMs: Math.max(...times) };
}

const HUES = ['--line-1', '--line-2', '--line-3', '--line-4'] as const;
const NAME_PX = 110;
const LANE_PX = 20;

function prepare(canvas: HTMLCanvasElement): { context: CanvasRenderingContext2D; color: (name: string) => string } | undefined {
  const ratio = devicePixelRatio;
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  const context = canvas.getContext('2d');
  if (context === null) return undefined;
  context.scale(ratio, ratio);
  context.font = '11px system-ui';
  const style = getComputedStyle(document.documentElement);
  return { context, color: (name) => style.getPropertyValue(name).trim() };
}

export function drawSwim(canvas: HTMLCanvasElement, swim: Swim): void {
  const pens = prepare(canvas);
  if (pens === undefined) return;
  const { context, color } = pens;
  const width = canvas.clientWidth - NAME_PX;
  const x = (ms: number): number => NAME_PX + ((ms - swim.fromMs) / Math.max(1, swim.toMs - swim.fromMs)) * width;
  context.fillStyle = color('--dim');
  for (const [lane, worker] of swim.workers.entries()) context.fillText(visible(worker).slice(0, 18), 2, 24 + lane * LANE_PX + 13);
  for (const { lane, version, fromMs, toMs } of swim.spans) {
    context.fillStyle = color(HUES[Math.max(0, version) % HUES.length] ?? '--line-1');
    context.fillRect(x(fromMs), 24 + lane * LANE_PX + 3, Math.max(2, x(toMs) - x(fromMs) - 1), LANE_PX - 6);
  }
  context.strokeStyle = color('--ink');
  context.fillStyle = color('--dim');
  context.beginPath();
  let lastText = -99;
  for (const { version, atMs } of swim.published) {
    context.moveTo(x(atMs), 16);
    context.lineTo(x(atMs), canvas.clientHeight);
    if (x(atMs) - lastText > 40) {
      context.fillText(`v${version}`, x(atMs) + 2, 12);
      lastText = x(atMs);
    }
  }
  context.stroke();
}

export function drawStrip(
  canvas: HTMLCanvasElement,
  lines: readonly { readonly values: readonly number[]; readonly color: string }[],
): void {
  const pens = prepare(canvas);
  if (pens === undefined) return;
  const { context, color } = pens;
  const most = Math.max(1, ...lines.flatMap(({ values }) => values));
  const least = Math.min(0, ...lines.flatMap(({ values }) => values));
  const [width, height] = [canvas.clientWidth, canvas.clientHeight - 8];
  for (const { values, color: name } of lines) {
    context.strokeStyle = color(name);
    context.beginPath();
    for (const [at, value] of values.entries()) {
      const [px, py] = [(at / Math.max(1, values.length - 1)) * width, 4 + height - (height * (value - least)) / (most - least)];
      if (at === 0) context.moveTo(px, py);
      else context.lineTo(px, py);
    }
    context.stroke();
  }
}
