// Splits the time of one network call into three parts: our own queue, failed attempts including the waits after them, and the last
// attempt plus earlier ones that gave a part of the result. Together they cover the whole call, except for the moments between them.
import type { CallTiming } from '../../streams/core/agents.ts';

export interface CallClock {
  /** Measures time in our own queue. */
  queued<T>(wait: Promise<T>): Promise<T>;
  /** Measures one attempt. The previous attempt, and the time since, count as failed, unless it was kept. */
  tried<T>(run: () => Promise<T>): Promise<T>;
  /** The last attempt gave a part of the result: its time counts as successful. */
  kept(): void;
  timing(): CallTiming;
}

export function createCallClock(now: () => number = () => performance.now()): CallClock {
  let [queueMs, retries, retryMs, serverMs, keptMs] = [0, 0, 0, 0, 0];
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
    kept() {
      keptMs += serverMs;
      serverMs = 0;
      last = undefined;
    },
    timing: () => ({ queueMs, retries, retryMs, serverMs: keptMs + serverMs }),
  };
}
