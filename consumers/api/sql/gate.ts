import { PlatformError } from '../../../streams/core/errors.ts';

/** Limits concurrency; other callers wait in order for a limited time. */
export interface Gate {
  /** Tells the work whether it was alone when it started. Throws RATE_LIMITED when no slot became free in time or too many callers wait. */
  run<T>(work: (alone: boolean) => Promise<T>): Promise<T>;
}

interface Waiter {
  readonly start: () => void;
  readonly timer: NodeJS.Timeout;
}

/** At most `width` callers run and 10 x `width` wait. */
export function createGate(options: { readonly width: number; readonly maxWaitMs: number }): Gate {
  const waiting: Waiter[] = [];
  let running = 0;

  function enter(): Promise<void> {
    if (running < options.width) {
      running += 1;
      return Promise.resolve();
    }
    if (waiting.length >= options.width * 10) throw busy();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(waiter), 1);
        reject(busy());
      }, options.maxWaitMs);
      const waiter: Waiter = { start: resolve, timer };
      waiting.push(waiter);
    });
  }

  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) {
      running -= 1;
      return;
    }
    clearTimeout(next.timer);
    next.start();
  }

  return {
    async run(work) {
      await enter();
      try {
        return await work(running === 1);
      } finally {
        leave();
      }
    },
  };

  function busy(): PlatformError {
    return new PlatformError('RATE_LIMITED', `waiting to run the query: ${options.width} others are running; try again in a few seconds`);
  }
}
