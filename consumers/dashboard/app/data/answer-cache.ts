// Decides when to request data again, without the DOM.

/** A response that takes t to load is requested at most every 10 t, or every 15 s if that is less, however many events arrive. */
const COST_FACTOR = 10;
const LONGEST_WAIT_MS = 15_000;

/** True if a refresh of `prefix` affects `url`: the same path and those below it, or with a trailing `?` only the same path. */
export function isUnder(url: string, prefix: string): boolean {
  if (prefix.endsWith('?')) return url === prefix.slice(0, -1) || url.startsWith(prefix);
  return url.startsWith(prefix) && ['', '/', '?'].includes(url.charAt(prefix.length));
}

/** How long to wait before the next request, ms. */
export const waitFor = (nowMs: number, { askedAtMs, tookMs }: { readonly askedAtMs: number; readonly tookMs: number }): number =>
  Math.max(0, askedAtMs + Math.min(LONGEST_WAIT_MS, tookMs * COST_FACTOR) - nowMs);
