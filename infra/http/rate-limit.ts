// Limits the request rate per caller with a token bucket that holds two seconds' worth of tokens. A caller is an API key, or an address
// when there is no key. Memory is bounded: the least recently seen caller is evicted.

export interface RateLimiter {
  /** Takes a token; returns 0, or the milliseconds until a token is available. */
  take(caller: string): number;
}

const BURST_SECONDS = 2;

/** `perSecond` 0 disables the limit. `now` in ms. */
export function createRateLimiter(options: {
  readonly perSecond: number;
  readonly now: () => number;
  readonly maxCallers?: number;
}): RateLimiter {
  const { perSecond, now, maxCallers = 10_000 } = options;
  const most = Math.max(1, perSecond * BURST_SECONDS);
  const buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>();
  return {
    take(caller) {
      if (perSecond <= 0) return 0;
      const atMs = now();
      const old = buckets.get(caller);
      const filled = old === undefined ? most : Math.min(most, old.tokens + ((atMs - old.atMs) * perSecond) / 1_000);
      const allowed = filled >= 1;
      const tokens = allowed ? filled - 1 : filled;
      buckets.delete(caller);
      buckets.set(caller, { tokens, atMs });
      for (const oldest of buckets.keys()) {
        if (buckets.size <= maxCallers) break;
        buckets.delete(oldest);
      }
      return allowed ? 0 : Math.ceil(((1 - tokens) * 1_000) / perSecond);
    },
  };
}
