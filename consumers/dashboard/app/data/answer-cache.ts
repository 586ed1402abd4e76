// When an answer is asked for again, as plain values.

/** An answer is asked for at most a tenth of the time, however often something happens. */
const COST_FACTOR = 10;
const LONGEST_WAIT_MS = 15_000;

/** Whether a refresh means an address: itself and all under it, or with a `?` at the end only itself, whatever it asks. */
export function isUnder(url: string, prefix: string): boolean {
  if (prefix.endsWith('?')) return url === prefix.slice(0, -1) || url.startsWith(prefix);
  return url.startsWith(prefix) && ['', '/', '?'].includes(url.charAt(prefix.length));
}

/** How long to wait before an answer is asked for again, ms. */
export const waitFor = (nowMs: number, { askedAtMs, tookMs }: { readonly askedAtMs: number; readonly tookMs: number }): number =>
  Math.max(0, askedAtMs + Math.min(LONGEST_WAIT_MS, tookMs * COST_FACTOR) - nowMs);
