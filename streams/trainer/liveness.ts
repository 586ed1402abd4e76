// Decides which attempts to give up. All times are listening time (listening.ts): they count only while this trainer could hear, and a
// restart or an interruption gives every worker a new deadline. Attempts are judged at a time up to which the whole log has been folded.
// The decision is recorded as TrajectoryExpired and never made twice.
import type { RunState } from '../run/run-state.ts';
import { isRequestLost, type Trajectory } from '../group/group.ts';
import { REFUSED, statusOf, type Attempt } from '../trajectory/attempt.ts';
import { createHeardWorkers, type HeardWorkers, type LastHeartbeat } from './heard-workers.ts';

export type ExpiryReason =
  'silent' | 'wall_clock' | 'lost_claim' | 'lost_request' | 'question_gone' | 'unusable' | 'refused' | 'reward_timeout';

/** Reasons for which another attempt would end the same way, or cannot help. */
export const FINAL: ReadonlySet<ExpiryReason> = new Set<ExpiryReason>(['question_gone', 'refused', 'reward_timeout']);

/** Reasons for giving up an attempt that had ended in time. */
export const AFTER_END = ['unusable', 'refused', 'reward_timeout'] as const satisfies readonly ExpiryReason[];

export interface Expiry {
  readonly trajectory: Trajectory;
  readonly attempt: number;
  readonly reason: ExpiryReason;
}

export interface Liveness {
  /** A sign of life from a worker. */
  readonly heard: HeardWorkers['heard'];
  /** Listening starts, initially or after an interruption: deadlines count from here. */
  live(nowMs: number): void;
  /** Committed offsets of the workers' group on `tasks`, by partition. */
  claimed(offsets: ReadonlyMap<number, number>): void;
  /** Some attempt was requested and has not started, so claimed() is needed. */
  readonly waiting: boolean;
  /** Attempts to give up, judged at a time up to which the log has been folded. */
  expired(state: RunState, nowMs: number): readonly Expiry[];
}

interface SeenRunning {
  readonly sinceMs: number;
  /** When its worker last listed it, or when it was first seen as running. */
  readonly listedMs: number;
  /** Heartbeats of its worker until then. */
  readonly heartbeats: number;
}

/** Since when attempts have been seen as claimed but not started, and as running. */
interface SeenAttempts {
  readonly claimed: Map<string, number>;
  readonly running: Map<string, SeenRunning>;
}

/**
 * A worker lists an attempt until the log has acknowledged its end, so an attempt that it no longer lists has ended, and the log has lost
 * the end. The content of a heartbeat may be older than the attempt, but only that of one.
 */
const UNLISTED_HEARTBEATS = 2;

interface LivenessCheck {
  readonly nowMs: number;
  readonly seen: SeenAttempts;
}

const keyOf = ({ id, request }: Trajectory): string => `${id}/${request.attempt}`;

/** Trajectories that still wait for their newest attempt. */
function* undecidedOf(state: RunState): Generator<Trajectory> {
  for (const group of state.groups.values()) {
    if (state.decided.has(group.id)) continue;
    for (const trajectory of group.trajectories.values()) {
      if (trajectory.winner === undefined && !trajectory.exhausted) yield trajectory;
    }
  }
}

interface WorkerNow {
  readonly nowMs: number;
  readonly lastMs: number;
  readonly heartbeat: LastHeartbeat | undefined;
}

function seenRunning(key: string, { nowMs, lastMs, heartbeat }: WorkerNow, before: SeenRunning | undefined): SeenRunning {
  if (before !== undefined && heartbeat?.running.has(key) === false) return before;
  // the log may have been folded beyond the time of this check
  return { sinceMs: before?.sinceMs ?? nowMs, listedMs: Math.max(nowMs, lastMs), heartbeats: heartbeat?.count ?? 0 };
}

const isUnlisted = ({ heartbeats }: SeenRunning, { heartbeat }: WorkerNow): boolean =>
  (heartbeat?.count ?? 0) - heartbeats >= UNLISTED_HEARTBEATS;

const heardAgain = (running: SeenAttempts['running'], nowMs: number): SeenAttempts['running'] =>
  new Map([...running].map(([key, { sinceMs }]) => [key, { sinceMs: Math.min(sinceMs, nowMs), listedMs: nowMs, heartbeats: 0 }]));

export function createLiveness(options: { readonly silenceMs: number }): Liveness {
  const { silenceMs } = options;
  const workers = createHeardWorkers();
  // covers only the last check: attempts that started, ended, or were requested again are dropped
  let since: SeenAttempts = { claimed: new Map(), running: new Map() };
  let claims: ReadonlyMap<number, number> = new Map();
  let liveSince: number | undefined;
  let waiting = false;

  /** Gives the same answer when called twice with the same time: a plan may be computed again before it is carried out. */
  function ofUnstarted(trajectory: Trajectory, nowMs: number, seen: SeenAttempts): ExpiryReason | undefined {
    if (isRequestLost(trajectory)) return trajectory.request.question === '' ? 'question_gone' : 'lost_request';
    waiting = true;
    const taken = (claims.get(trajectory.requestPartition) ?? 0) > trajectory.requestOffset;
    if (!taken) return undefined;
    const key = keyOf(trajectory);
    const claimedMs = since.claimed.get(key) ?? nowMs;
    seen.claimed.set(key, claimedMs);
    return nowMs - claimedMs <= silenceMs ? undefined : 'lost_claim';
  }

  function ofRunning(trajectory: Trajectory, attempt: Attempt, { nowMs, seen }: LivenessCheck): ExpiryReason | undefined {
    const key = keyOf(trajectory);
    const worker = { nowMs, lastMs: workers.lastHeard(attempt.workerId), heartbeat: workers.lastHeartbeat(attempt.workerId) };
    const running = seenRunning(key, worker, since.running.get(key));
    seen.running.set(key, running);
    const heard = Math.max(worker.lastMs, liveSince ?? nowMs);
    if (nowMs - heard > silenceMs || workers.isReplaced(attempt.workerId, nowMs)) return 'silent';
    if (isUnlisted(running, worker) && nowMs - running.listedMs > silenceMs) return 'silent';
    return nowMs - running.sinceMs > trajectory.request.max_wall_ms + silenceMs ? 'wall_clock' : undefined;
  }

  function reasonFor(trajectory: Trajectory, { nowMs, seen }: LivenessCheck): ExpiryReason | undefined {
    const attempt = trajectory.attempts.get(trajectory.request.attempt);
    if (attempt !== undefined && statusOf(attempt) === 'unusable') return attempt.ending?.status === REFUSED ? REFUSED : 'unusable';
    if (attempt === undefined || attempt.workerId === '') return ofUnstarted(trajectory, nowMs, seen);
    return ofRunning(trajectory, attempt, { nowMs, seen });
  }

  return {
    heard: workers.heard,
    live(nowMs) {
      liveSince = nowMs;
      // listening time goes back by the length of an interruption, so times from within it may be later than now
      workers.clear();
      since = { claimed: new Map(), running: heardAgain(since.running, nowMs) };
    },
    claimed(offsets) {
      claims = offsets;
    },
    get waiting() {
      return waiting;
    },
    expired(state, nowMs) {
      waiting = false;
      if (liveSince === undefined || nowMs < liveSince) return [];
      const expiries: Expiry[] = [];
      const seen: SeenAttempts = { claimed: new Map(), running: new Map() };
      for (const trajectory of undecidedOf(state)) {
        const reason = reasonFor(trajectory, { nowMs, seen });
        if (reason !== undefined) expiries.push({ trajectory, attempt: trajectory.request.attempt, reason });
      }
      since = seen;
      return expiries;
    },
  };
}
