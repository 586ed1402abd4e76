// What a group that closes leaves behind, so that every token that was made and not trained on is accounted for, once.
//
// A trajectory that is not trained on has one discard that says why: the reason of its group when an attempt of it
// counts, `expired` when it was given up before its newest attempt ended, `lost` when its request is no longer in the log
// and it could not be asked for again. Beside that, every other attempt that ended
// is a discard of its own: `superseded` when it could have been used and was not the first, `invalid` when it could not.
// Attempts that never ended are in TrajectoryExpired alone; one that ends after its group closed changes nothing.
import { isRequestLost, type Group, type Trajectory } from '../group/group.ts';
import { statusOf, type Attempt } from '../trajectory/attempt.ts';
import type { DiscardReason } from './batch.ts';

export interface Discard {
  readonly trajectory: Trajectory;
  /** Number of the attempt. */
  readonly number: number;
  /** Undefined when nothing of it was ever seen. */
  readonly attempt: Attempt | undefined;
  readonly reason: DiscardReason;
}

/** How a group closes. */
interface Closing {
  /** Trajectories that are trained on. */
  readonly trained: ReadonlySet<string>;
  /** Why the others are not, as far as an attempt of theirs counts. */
  readonly reason: DiscardReason;
}

/** The discards of a group that closes, by sample and attempt; every trajectory that is not trained on has at least one. */
export function discardsOf(group: Group, closing: Closing): readonly Discard[] {
  return [...group.trajectories.values()]
    .sort((a, b) => a.sample - b.sample)
    .flatMap((trajectory) => [...outcomeOf(trajectory, closing), ...othersOf(trajectory)].sort((a, b) => a.number - b.number));
}

function outcomeOf(trajectory: Trajectory, { trained, reason }: Closing): readonly Discard[] {
  if (trained.has(trajectory.id)) return [];
  const number = trajectory.winner ?? trajectory.request.attempt;
  const attempt = trajectory.attempts.get(number);
  if (trajectory.winner !== undefined) return [{ trajectory, number, attempt, reason }];
  // an attempt that ended and does not count is among the others
  if (attempt?.ending !== undefined) return [];
  return [{ trajectory, number, attempt, reason: isRequestLost(trajectory) ? 'lost' : 'expired' }];
}

function othersOf(trajectory: Trajectory): readonly Discard[] {
  return [...trajectory.attempts.values()]
    .filter(({ number, ending }) => ending !== undefined && number !== trajectory.winner)
    .map((attempt) => {
      const reason = statusOf(attempt) === 'usable' ? 'superseded' : 'invalid';
      return { trajectory, number: attempt.number, attempt, reason };
    });
}
