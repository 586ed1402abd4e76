// Helper roles that run inside another role for as long as it needs them. The first failure ends the outer work.
import { deferred } from '../../../../streams/core/waiting.ts';

export interface Beside {
  /** Starts one; the returned function stops it and resolves when it has ended. */
  start(role: (signal: AbortSignal) => Promise<unknown>): () => Promise<void>;
  /** A signal that also aborts when one of them fails. */
  signal(outer: AbortSignal): AbortSignal;
  /** The result of `work`, or the failure of one of them if that comes first. */
  unlessFailed<T>(work: Promise<T>): Promise<T>;
  /** Stops them; resolves when all of them have ended. */
  stop(): Promise<void>;
}

export function createBeside(): Beside {
  const failure = new AbortController();
  const failed = deferred<never>();
  const stops: (() => Promise<void>)[] = [];
  return {
    start(role) {
      const stopping = new AbortController();
      const running = role(stopping.signal).catch((error: unknown) => {
        if (stopping.signal.aborted) return;
        failed.reject(error);
        failure.abort(error);
      });
      const stop = async (): Promise<void> => {
        stopping.abort();
        await running;
      };
      stops.push(stop);
      return stop;
    },
    signal: (outer) => AbortSignal.any([outer, failure.signal]),
    unlessFailed(work) {
      work.catch(() => undefined);
      return Promise.race([work, failed.promise]);
    },
    async stop() {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}
