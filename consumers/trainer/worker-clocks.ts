// What the clocks of workers say. How long an attempt has waited for its training is the time between two readings of one
// clock, the worker's: when it finished, and now, which is when the worker was last heard plus what has passed here since.
// A worker whose clock is an hour off, or a trainer that has just restarted, changes nothing about it.

export interface WorkerClocks {
  /** Notes a record that its worker has just written. `nowMs` is monotonic. */
  note(workerId: string, timestampMs: number, nowMs: number): void;
  /** What the clock of the worker said at `nowMs`, ms since the epoch; 0 for one that was never heard. */
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
