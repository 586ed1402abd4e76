// Where the time of one call over the network goes: our own queue, tries that failed with the waits behind them, and the try
// that counts. All of the call is in one of the three, but for the moments between them.
import type { CallTiming } from '../../streams/core/agents.ts';

export interface CallClock {
  /** Time in our own queue. */
  queued<T>(wait: Promise<T>): Promise<T>;
  /** One try. The one before it, and the time since, was a failure. */
  tried<T>(run: () => Promise<T>): Promise<T>;
  timing(): CallTiming;
}

export function createCallClock(now: () => number = () => performance.now()): CallClock {
  let [queueMs, retries, retryMs, serverMs] = [0, 0, 0, 0];
  let last: { readonly atMs: number; readonly queueMs: number } | undefined;
  return {
    async queued(wait) {
      const from = now();
      try {
        return await wait;
      } finally {
        queueMs += now() - from;
      }
    },
    async tried(run) {
      const atMs = now();
      if (last !== undefined) {
        retries += 1;
        retryMs += atMs - last.atMs - (queueMs - last.queueMs);
      }
      last = { atMs, queueMs };
      try {
        return await run();
      } finally {
        serverMs = now() - atMs;
      }
    },
    timing: () => ({ queueMs, retries, retryMs, serverMs }),
  };
}
