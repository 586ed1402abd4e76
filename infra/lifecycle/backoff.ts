// Waits that end early when a signal aborts or the work has settled.

/** Resolves after `ms`, or at once when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

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
