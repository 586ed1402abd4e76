// One tool over time: calls as bars, failures within them, the 95th percentile of latency as a line, outages hatched.
import type { ApiToolSpan, ApiWeather } from '../data/watch-shapes.ts';

export function drawWeather(
  canvas: HTMLCanvasElement,
  spans: readonly ApiToolSpan[],
  { all, tool }: { readonly all: ApiWeather; readonly tool: string },
): void {
  const ratio = devicePixelRatio;
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.scale(ratio, ratio);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const times = all.items.map(({ at }) => Date.parse(at));
  const everyMs = all.every_s * 1_000;
  const [from, to] = [Math.min(...times), Math.max(...times) + everyMs];
  const x = (ms: number): number => ((ms - from) / (to - from)) * width;
  const most = Math.max(...spans.map(({ calls }) => calls));
  const slowest = Math.max(1, ...spans.map(({ ms_p95 }) => ms_p95 ?? 0));
  for (const { at, calls, failed } of spans) {
    const [left, bar] = [x(Date.parse(at)), Math.max(1, x(from + everyMs) - 1)];
    const [whole, bad] = [((height - 4) * calls) / most, ((height - 4) * failed) / most];
    context.fillStyle = color('--line');
    context.fillRect(left, height - whole, bar, whole);
    context.fillStyle = color('--bad');
    context.fillRect(left, height - bad, bar, bad);
  }
  context.strokeStyle = color('--bad');
  for (const outage of all.outages.filter((one) => one.tool === tool)) {
    const [left, right] = [x(Date.parse(outage.from)), x(Date.parse(outage.to))];
    context.beginPath();
    for (let at = left - height; at < right; at += 6) {
      context.moveTo(Math.max(left, at), at < left ? height - (left - at) : height);
      context.lineTo(Math.min(right, at + height), at + height > right ? height - (right - at) : 0);
    }
    context.stroke();
    context.strokeRect(left, 0.5, Math.max(2, right - left), height - 1);
  }
  context.strokeStyle = color('--line-1');
  context.beginPath();
  for (const [at, span] of spans.entries()) {
    const [px, py] = [x(Date.parse(span.at) + everyMs / 2), height - 2 - ((height - 6) * (span.ms_p95 ?? 0)) / slowest];
    if (at === 0) context.moveTo(px, py);
    else context.lineTo(px, py);
  }
  context.stroke();
}
