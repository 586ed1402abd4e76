// Helper roles that run inside another role for as long as it needs them. The first failure ends the outer work.

export interface Beside {
  /** A signal that also aborts when one of them fails. */
  signal(outer: AbortSignal): AbortSignal;
  /** The result of `work`, or the failure of one of them if that comes first. */
  unlessFailed<T>(work: Promise<T>): Promise<T>;
  /** Stops them; resolves when all of them have ended. */
  stop(): Promise<void>;
}

export function startBeside(roles: readonly ((signal: AbortSignal) => Promise<unknown>)[]): Beside {
  const stopping = new AbortController();
  const failure = new AbortController();
  const failed = new Promise<never>((_, reject) => {
    failure.signal.addEventListener('abort', () => {
      reject(failure.signal.reason as Error);
    });
  });
  failed.catch(() => undefined);
  const running = roles.map((role) =>
    role(stopping.signal).catch((error: unknown) => {
      if (!stopping.signal.aborted) failure.abort(error);
    }),
  );
  return {
    signal: (outer) => AbortSignal.any([outer, failure.signal]),
    unlessFailed(work) {
      work.catch(() => undefined);
      return Promise.race([work, failed]);
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
