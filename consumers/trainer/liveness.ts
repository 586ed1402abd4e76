// Which attempts are to be given up. Heard-of times are those of this process (a restart gives everybody a new
// deadline); the decision itself is recorded as TrajectoryExpired and never made a second time.
import type { RunState } from '../../streams/run/run-state.ts';
import { isRequestLost, type Trajectory } from '../../streams/group/group.ts';
import { statusOf, type Attempt } from '../../streams/trajectory/attempt.ts';

export type ExpiryReason = 'silent' | 'wall_clock' | 'lost_claim' | 'lost_request' | 'question_gone' | 'unusable';

export interface Expiry {
  readonly trajectory: Trajectory;
  readonly attempt: number;
  readonly reason: ExpiryReason;
}

export interface Liveness {
  /** A sign of life of a worker. */
  heard(workerId: string, nowMs: number): void;
  /** The state has caught up with the log: deadlines count from here. */
  live(nowMs: number): void;
  /** Committed offsets of the workers' group on `tasks`, by partition. */
  claimed(offsets: ReadonlyMap<number, number>): void;
  /** Some attempt was asked for and not begun: claimed() is worth asking for. */
  readonly waiting: boolean;
  /** Attempts to give up now. */
  expired(state: RunState, nowMs: number): readonly Expiry[];
}

export function createLiveness(options: { readonly silenceMs: number }): Liveness {
  const { silenceMs } = options;
  const lastHeard = new Map<string, number>();
  // of the last look alone: whoever has begun or is asked for again is not in it any more
  let claimedSince: ReadonlyMap<string, number> = new Map();
  let claims: ReadonlyMap<number, number> = new Map();
  let liveSince: number | undefined;
  let waiting = false;

  /** Asked twice at one time it says the same twice: a plan may be made again before it is carried out. */
  function ofUnstarted(trajectory: Trajectory, nowMs: number, seen: Map<string, number>): ExpiryReason | undefined {
    if (isRequestLost(trajectory)) return trajectory.request.question === '' ? 'question_gone' : 'lost_request';
    waiting = true;
    const taken = (claims.get(trajectory.requestPartition) ?? 0) > trajectory.requestOffset;
    if (!taken) return undefined;
    const key = `${trajectory.id}/${trajectory.request.attempt}`;
    const since = claimedSince.get(key) ?? nowMs;
    seen.set(key, since);
    return nowMs - since <= silenceMs ? undefined : 'lost_claim';
  }

  function ofRunning(trajectory: Trajectory, attempt: Attempt, nowMs: number): ExpiryReason | undefined {
    const heard = Math.max(lastHeard.get(attempt.workerId) ?? 0, liveSince ?? nowMs);
    if (nowMs - heard > silenceMs) return 'silent';
    return nowMs - attempt.startedMs > trajectory.request.max_wall_ms + silenceMs ? 'wall_clock' : undefined;
  }

  function reasonFor(trajectory: Trajectory, nowMs: number, seen: Map<string, number>): ExpiryReason | undefined {
    const attempt = trajectory.attempts.get(trajectory.request.attempt);
    if (attempt !== undefined && statusOf(attempt) === 'unusable') return 'unusable';
    if (attempt === undefined || attempt.workerId === '') return ofUnstarted(trajectory, nowMs, seen);
    return ofRunning(trajectory, attempt, nowMs);
  }

  return {
    heard(workerId, nowMs) {
      lastHeard.set(workerId, nowMs);
    },
    live(nowMs) {
      liveSince ??= nowMs;
    },
    claimed(offsets) {
      claims = offsets;
    },
    get waiting() {
      return waiting;
    },
    expired(state, nowMs) {
      waiting = false;
      if (liveSince === undefined) return [];
      const expiries: Expiry[] = [];
      const seen = new Map<string, number>();
      for (const group of state.groups.values()) {
        if (state.decided.has(group.id)) continue;
        for (const trajectory of group.trajectories.values()) {
          if (trajectory.winner !== undefined || trajectory.exhausted) continue;
          const reason = reasonFor(trajectory, nowMs, seen);
          if (reason !== undefined) expiries.push({ trajectory, attempt: trajectory.request.attempt, reason });
        }
      }
      claimedSince = seen;
      return expiries;
    },
  };
}
