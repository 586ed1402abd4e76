// Waits that end early: when a signal aborts, the work has ended or the time is up.

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

/** Resolves when the signal aborts, or at once when it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
}

/** Resolves with true when the work has settled, or with false when the time is up. Never rejects. */
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

/** Settles like the work, or rejects with the error of `late` when the time is up. */
export async function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  if (await settledWithin(ms, work)) return work;
  throw late();
}
