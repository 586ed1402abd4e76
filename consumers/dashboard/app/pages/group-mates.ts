// The trajectories in the group of a trajectory, without the DOM.
import type { ApiTrajectory } from '../data/shapes.ts';
import type { MarkedAttempt } from '../shell/attempt-names.ts';

export type GroupMate = Pick<ApiTrajectory, 'trajectory_id' | 'attempt' | 'reward' | 'fate'>;

/** Compares numbers in ids as numbers. */
const ids = new Intl.Collator('en', { numeric: true });

const rankOf = ({ fate, attempt }: GroupMate): number => (fate === 'trained' || fate === 'collected' ? -1 : attempt);

/**
 * The trajectories of a group, sorted by id, each with the attempt that a step trained on or a batch collected, or else the finished
 * attempt with the lowest number. The trajectory that is open is one of them even if it has not finished.
 */
export function matesOf(finished: readonly GroupMate[], open: string): readonly GroupMate[] {
  const best = new Map<string, GroupMate>();
  for (const row of finished) {
    const known = best.get(row.trajectory_id);
    if (known === undefined || rankOf(row) < rankOf(known)) best.set(row.trajectory_id, row);
  }
  if (!best.has(open)) best.set(open, { trajectory_id: open, attempt: 0, reward: null });
  return [...best.values()].sort((a, b) => ids.compare(a.trajectory_id, b.trajectory_id));
}

interface OpenAttempt {
  readonly mates: readonly GroupMate[];
  readonly open: MarkedAttempt;
  /** Numbers of the attempts of the trajectory that is open. */
  readonly attempts: readonly number[];
}

/** The attempt after the open one (1) or before it (-1); past the last or first attempt, the next or previous trajectory of the group. */
export function besideOf({ mates, open, attempts }: OpenAttempt, by: 1 | -1): MarkedAttempt | undefined {
  const attempt = attempts[attempts.indexOf(open.attempt) + by];
  if (attempt !== undefined) return { trajectory_id: open.trajectory_id, attempt };
  return mates[mates.findIndex((mate) => mate.trajectory_id === open.trajectory_id) + by];
}
