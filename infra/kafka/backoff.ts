import { pause } from '../lifecycle/backoff.ts';

/** Delays that double from 100 ms to 5 s, with 20 % jitter so that many clients do not reconnect at once. */
export const backoffMs = (attempt: number): number => Math.min(5_000, 100 * 2 ** Math.min(attempt, 10)) * (0.8 + 0.4 * Math.random());

export { pause };

/** Resolves with true when the work has settled, or with false when the time is up. */
export async function settledWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const done = await Promise.race([
    work.then(
      () => true,
      () => true,
    ),
    pause(ms, timer.signal).then(() => false),
  ]);
  timer.abort();
  return done;
}
