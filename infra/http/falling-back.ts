import { isPlatformError } from '../../streams/core/errors.ts';
import type { Coordinator } from '../../streams/leases/coordinator.ts';

/** Calls `first`, or the coordinator that `second` makes if `first` cannot be reached. Errors that `first` itself returns are rethrown. */
export function fallingBack(first: Coordinator, second: (reason: unknown) => Promise<Coordinator>): Coordinator {
  async function ask<T>(call: (coordinator: Coordinator) => Promise<T>): Promise<T> {
    try {
      return await call(first);
    } catch (error) {
      if (!isPlatformError(error, 'COORDINATOR_UNAVAILABLE') || error.cause === undefined) throw error;
      return call(await second(error));
    }
  }
  return {
    claim: (run, request) => ask((it) => it.claim(run, request)),
    lease: (run, request, signal) => ask((it) => it.lease(run, request, signal)),
    publish: (run, request) => ask((it) => it.publish(run, request)),
    rows: (batchId, request) => ask((it) => it.rows(batchId, request)),
    extend: (batchId, request) => ask((it) => it.extend(batchId, request)),
    commit: (batchId, request) => ask((it) => it.commit(batchId, request)),
    release: (batchId, request) => ask((it) => it.release(batchId, request)),
  };
}
