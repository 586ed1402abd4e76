// When each worker was last heard, what it runs, and which were replaced: a supervisor starts a replacement only after the previous worker
// has ended.
import { incarnationOf } from '../trajectory/worker-id.ts';

/** A record of a worker: when it was folded, in listening time, and the clock of the worker when it wrote it, ms since the epoch. */
export interface WorkerSign {
  readonly nowMs: number;
  readonly timestampMs: number;
  /** Of a heartbeat: the attempts that it lists, as `<trajectory>/<attempt>`. */
  readonly running?: ReadonlySet<string>;
}

/** The last heartbeat of a worker, and how many there were since listening started. */
export interface LastHeartbeat {
  readonly count: number;
  readonly running: ReadonlySet<string>;
}

export interface HeardWorkers {
  readonly heard: (workerId: string, sign: WorkerSign) => void;
  /** -Infinity for a worker that was not heard. */
  lastHeard(workerId: string): number;
  /** Undefined for a worker without heartbeats. */
  lastHeartbeat(workerId: string): LastHeartbeat | undefined;
  /** True when a newer worker has replaced this one, which has written nothing since then. */
  isReplaced(workerId: string, nowMs: number): boolean;
  clear(): void;
}

/** How long the newer worker must have been heard, ms: the last records of the older one may be read later. */
const SETTLE_MS = 1_000;

export function createHeardWorkers(): HeardWorkers {
  const last = new Map<string, WorkerSign>();
  const heartbeats = new Map<string, LastHeartbeat>();
  const newest = new Map<string, { readonly number: number; readonly sinceMs: number }>();
  return {
    heard(workerId, sign) {
      last.set(workerId, sign);
      if (sign.running !== undefined) {
        heartbeats.set(workerId, { count: (heartbeats.get(workerId)?.count ?? 0) + 1, running: sign.running });
      }
      const own = incarnationOf(workerId);
      if (own === undefined || own.number <= (newest.get(own.place)?.number ?? -1)) return;
      newest.set(own.place, { number: own.number, sinceMs: sign.nowMs });
    },
    lastHeard: (workerId) => last.get(workerId)?.nowMs ?? -Infinity,
    lastHeartbeat: (workerId) => heartbeats.get(workerId),
    isReplaced(workerId, nowMs) {
      const own = incarnationOf(workerId);
      const newer = own === undefined ? undefined : newest.get(own.place);
      if (own === undefined || newer === undefined || newer.number <= own.number) return false;
      const wroteMs = last.get(workerId)?.timestampMs ?? -Infinity;
      return nowMs - newer.sinceMs > SETTLE_MS && wroteMs <= newer.number;
    },
    clear() {
      last.clear();
      heartbeats.clear();
      newest.clear();
    },
  };
}
