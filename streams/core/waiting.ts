// Primitives for waiting. Time comes from the clock, so that tests control it.
import type { Clock } from './ports.ts';

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** A promise that is resolved or rejected from outside. An unobserved rejection does not end the process. */
export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

export interface Backoff {
  /** Milliseconds to wait before the next attempt. */
  next(): number;
  reset(): void;
}

export interface BackoffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** The wait after a number of earlier failures: doubles from `firstMs` up to `maxMs`. */
export const backoffMs = (failures: number, { firstMs, maxMs }: BackoffRange): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(failures, 30));

/** Counts the failures; a reset starts over at `firstMs`. */
export function createBackoff(range: BackoffRange): Backoff {
  let failures = 0;
  return {
    next() {
      const wait = backoffMs(failures, range);
      failures += 1;
      return wait;
    },
    reset() {
      failures = 0;
    },
  };
}

/** Wakes a loop that waits for work. */
export interface Wake {
  readonly now: () => void;
  /** Makes every wait from now on reject. */
  readonly fail: (error: unknown) => void;
  /** Resolves at the next wake-up, immediately if one came since the last wait, or after `ms`, at most a minute; rejects after `fail`. */
  wait(ms: number): Promise<void>;
  /** Resolves after `ms`, or at the first wake-up for which `alive` returns false. */
  sleep(ms: number, alive: () => boolean): Promise<void>;
}

/** Timers cannot wait longer than 24 days; checking once a minute costs nothing. */
const LONGEST_MS = 60_000;

export function createWake(clock: Pick<Clock, 'monotonic' | 'sleep'>): Wake {
  let pending = false;
  let failure: { readonly error: unknown } | undefined;
  const sleepers = new Set<AbortController>();

  async function next(ms: number): Promise<void> {
    const sleeper = new AbortController();
    sleepers.add(sleeper);
    await clock.sleep(Math.min(ms, LONGEST_MS), sleeper.signal);
    sleepers.delete(sleeper);
  }

  function now(): void {
    pending = true;
    for (const sleeper of [...sleepers]) sleeper.abort();
  }

  return {
    now,
    fail(error) {
      failure ??= { error };
      now();
    },
    async wait(ms) {
      if (!pending && failure === undefined) await next(ms);
      pending = false;
      if (failure !== undefined) throw failure.error;
    },
    async sleep(ms, alive) {
      const endMs = clock.monotonic() + ms;
      for (let leftMs = ms; leftMs > 0 && alive(); leftMs = endMs - clock.monotonic()) await next(leftMs);
    },
  };
}
