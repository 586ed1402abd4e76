import { systemClock } from '../lifecycle/clock.ts';
import type { Clock } from '../../streams/core/ports.ts';

/** A clock whose time the test sets; its sleeps are real. */
export const clockOf = (now: () => number): Clock => ({ now, monotonic: now, sleep: systemClock.sleep });

/** A clock that stands still until a test advances it; sleepers wake as the time passes. */
export interface TestClock extends Clock {
  /** Advances it by `ms` and stops at each sleeper that is due. */
  advance(ms: number): Promise<void>;
  /** Number of current sleepers. */
  sleepers(): number;
}

export function createTestClock(startMs = 0): TestClock {
  let nowMs = startMs;
  const sleeping = new Set<{ readonly due: number; readonly wake: () => void }>();
  const now = (): number => nowMs;
  /** Lets woken code run until it waits again. */
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    now,
    monotonic: now,
    sleepers: () => sleeping.size,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          sleeping.delete(sleeper);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const sleeper = { due: nowMs + ms, wake };
        if (signal?.aborted === true) {
          resolve();
          return;
        }
        sleeping.add(sleeper);
        signal?.addEventListener('abort', wake, { once: true });
      }),
    async advance(ms) {
      const endMs = nowMs + ms;
      await settle();
      for (;;) {
        const [next] = [...sleeping].sort((a, b) => a.due - b.due);
        if (next === undefined || next.due > endMs) break;
        nowMs = Math.max(nowMs, next.due);
        next.wake();
        await settle();
      }
      nowMs = endMs;
    },
  };
}
