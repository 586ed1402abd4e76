// The discards of a group that closes. They account exactly once for every generated token that is not trained on.
//
// A trajectory that is not trained on has one discard with the reason, unless its newest attempt ended and none counts: `incomplete` when
// the awaited rewards never came, the reason of its group when one of its attempts counts, `expired` when the trainer gave up before the
// newest attempt ended, `lost` when its request is no longer in the log and could not be made again, or when records of its group are gone
// that an external trainer needs. Every other attempt that ended has its own discard: `superseded` when it was usable, else `invalid`.
// Other attempts that never ended are only in TrajectoryExpired. An attempt that ends after its group closed changes nothing.
import { isRequestLost, type Group, type Trajectory } from '../group/group.ts';
import { statusOf, type Attempt } from '../trajectory/attempt.ts';
import type { DiscardReason } from './batch.ts';

export interface Discard {
  readonly trajectory: Trajectory;
  /** Attempt number. */
  readonly number: number;
  /** Undefined when no record of the attempt was seen. */
  readonly attempt: Attempt | undefined;
  readonly reason: DiscardReason;
}

/** How a group closes. */
interface Closing {
  /** Trajectories that are trained on. */
  readonly trained: ReadonlySet<string>;
  /** Why the other trajectories are not, if one of their attempts counts. */
  readonly reason: DiscardReason;
}

/** The discards of a group that closes, by sample and attempt; every trajectory that is not trained on has at least one. */
export function discardsOf(group: Group, closing: Closing): readonly Discard[] {
  return [...group.trajectories.values()]
    .sort((a, b) => a.sample - b.sample)
    .flatMap((trajectory) => [...outcomeOf(trajectory, closing, group), ...othersOf(trajectory)].sort((a, b) => a.number - b.number));
}

function outcomeOf(trajectory: Trajectory, { trained, reason }: Closing, group: Group): readonly Discard[] {
  if (trained.has(trajectory.id)) return [];
  const number = trajectory.winner ?? trajectory.request.attempt;
  const attempt = trajectory.attempts.get(number);
  if (trajectory.winner !== undefined) {
    return [{ trajectory, number, attempt, reason: wasUnrewarded(group, trajectory, reason) ? 'incomplete' : reason }];
  }
  // an attempt that ended without counting is already among the others
  if (attempt?.ending !== undefined) return [];
  return [{ trajectory, number, attempt, reason: isRequestLost(trajectory) ? 'lost' : 'expired' }];
}

/** The wait for its rewards was given up, and they never came, or came only while its group was trained on (`reason` is then `expired`). */
const wasUnrewarded = ({ awaited }: Group, { exhausted, settled }: Trajectory, reason: DiscardReason): boolean =>
  awaited.length > 0 && exhausted && (!settled || reason === 'expired');

function othersOf(trajectory: Trajectory): readonly Discard[] {
  return [...trajectory.attempts.values()]
    .filter(({ number, ending }) => ending !== undefined && number !== trajectory.winner)
    .map((attempt) => {
      const reason = statusOf(attempt) === 'usable' ? 'superseded' : 'invalid';
      return { trajectory, number: attempt.number, attempt, reason };
    });
}
