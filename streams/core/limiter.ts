// Limits concurrency; waiters enter in FIFO order.

export interface Limiter {
  /** Resolves with a function to call when the work is done; undefined when the signal aborts first. */
  enter(signal: AbortSignal): Promise<(() => void) | undefined>;
  running(): number;
  waiting(): number;
}

export function createLimiter(limit: number): Limiter {
  const queue = new Set<() => void>();
  let running = 0;

  function leave(): void {
    running -= 1;
    const [next] = queue;
    if (next === undefined) return;
    queue.delete(next);
    next();
  }

  function take(): () => void {
    running += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      leave();
    };
  }

  return {
    running: () => running,
    waiting: () => queue.size,
    enter(signal) {
      if (signal.aborted) return Promise.resolve(undefined);
      if (running < limit) return Promise.resolve(take());
      return new Promise((resolve) => {
        const go = (): void => {
          signal.removeEventListener('abort', stop);
          resolve(take());
        };
        const stop = (): void => {
          queue.delete(go);
          resolve(undefined);
        };
        queue.add(go);
        signal.addEventListener('abort', stop, { once: true });
      });
    },
  };
}
