// When an answer is asked for again, as plain values.

/** An answer is asked for at most a tenth of the time, however often something happens. */
const COST_FACTOR = 10;
const LONGEST_WAIT_MS = 15_000;

/** Whether a refresh of the prefix means the address: the prefix ends where a part of the address does. */
export function isUnder(url: string, prefix: string): boolean {
  if (!url.startsWith(prefix)) return false;
  const next = url.charAt(prefix.length);
  return next === '' || next === '/' || next === '?' || /[/?&]$/.test(prefix);
}

/** How long to wait before an answer is asked for again, ms. */
export const waitFor = (nowMs: number, { askedAtMs, tookMs }: { readonly askedAtMs: number; readonly tookMs: number }): number =>
  Math.max(0, askedAtMs + Math.min(LONGEST_WAIT_MS, tookMs * COST_FACTOR) - nowMs);
