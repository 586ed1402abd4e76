// The queue of calls from external trainers. The coordinator's loop serves them one at a time, between commits, so the state does not
// change during a call, and a call returns only after its entries are in the ledger.
import { PlatformError } from '../../../streams/core/errors.ts';
import { deferred, type Deferred } from '../../../streams/core/waiting.ts';
import type { Desk, ExternalLife, Job, Loop, CallWait } from '../deps.ts';

interface Waiting {
  /** Returns false if the call must be tried again later. */
  tryNow(life: ExternalLife, loop: Loop): Promise<boolean>;
  refuse(error: unknown): void;
}

const away = (): PlatformError =>
  new PlatformError('COORDINATOR_UNAVAILABLE', 'asking the coordinator of the run: it is starting, or waits for Kafka; try again');

export function createDesk(): Desk {
  const waiting = new Set<Waiting>();
  let wake: (() => void) | undefined;
  return {
    ask<T>(job: Job<T>, wait?: CallWait<T>) {
      if (wake === undefined) return Promise.reject(away());
      const reply = deferred<T>();
      waiting.add(callOf(job, reply, wait));
      wake();
      return reply.promise;
    },
    open(onCall) {
      wake = onCall;
    },
    async serve(life, loop) {
      for (const call of [...waiting]) if (await call.tryNow(life, loop)) waiting.delete(call);
    },
    close() {
      wake = undefined;
      for (const call of waiting) call.refuse(away());
      waiting.clear();
    },
  };
}

function callOf<T>(job: Job<T>, reply: Deferred<T>, wait: CallWait<T> | undefined): Waiting {
  let sinceMs: number | undefined;
  return {
    refuse: reply.reject,
    async tryNow(life, loop) {
      if (wait?.signal.aborted === true) return true;
      const outcome = await job(life, loop).catch((error: unknown) => {
        reply.reject(error);
        throw error;
      });
      sinceMs ??= life.clock.monotonic();
      if (outcome.kind === 'answer') reply.resolve(outcome.value);
      else if (outcome.kind === 'refused') reply.reject(outcome.error);
      else if (wait === undefined) reply.reject(away());
      else if (life.clock.monotonic() - sinceMs < wait.waitMs) return false;
      else reply.resolve(wait.otherwise);
      return true;
    },
  };
}
