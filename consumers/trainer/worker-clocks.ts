// Tracks the clocks of workers. How long an attempt has waited for training is the difference between two readings of the worker's clock:
// when it finished, and now, which is the worker's last timestamp plus the time passed here since. The result does not depend on a worker's
// clock offset or on a restart of the trainer.

export interface WorkerClocks {
  /** Records the timestamp of a record that the worker has just written. `nowMs` is monotonic. */
  note(workerId: string, timestampMs: number, nowMs: number): void;
  /** The worker's clock at `nowMs`, ms since the epoch; 0 for a worker that was never heard. */
  read(workerId: string, nowMs: number): number;
}

export function createWorkerClocks(): WorkerClocks {
  const last = new Map<string, { readonly timestampMs: number; readonly atMs: number }>();
  return {
    note(workerId, timestampMs, atMs) {
      last.set(workerId, { timestampMs, atMs });
    },
    read(workerId, nowMs) {
      const heard = last.get(workerId);
      return heard === undefined ? 0 : heard.timestampMs + (nowMs - heard.atMs);
    },
  };
}
