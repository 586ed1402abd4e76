import { PlatformError } from '../../../streams/core/errors.ts';
import { createLimiter } from '../../../streams/core/limiter.ts';

/** Limits concurrency; other callers wait in order for a limited time. */
export interface SqlGate {
  /** Tells the work whether it was alone when it started. Throws RATE_LIMITED when no slot became free in time or too many callers wait. */
  run<T>(work: (alone: boolean) => Promise<T>): Promise<T>;
}

/** At most `width` callers run and 10 x `width` wait. */
export function createGate({ width, maxWaitMs }: { readonly width: number; readonly maxWaitMs: number }): SqlGate {
  const limiter = createLimiter(width);
  const busy = (): PlatformError =>
    new PlatformError('RATE_LIMITED', `waiting to run the query: ${width} others are running; try again in a few seconds`);

  return {
    async run(work) {
      if (limiter.waiting() >= width * 10) throw busy();
      const leave = await limiter.enter(AbortSignal.timeout(maxWaitMs));
      if (leave === undefined) throw busy();
      try {
        return await work(limiter.running() === 1);
      } finally {
        leave();
      }
    },
  };
}
