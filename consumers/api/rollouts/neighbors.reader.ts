// The trajectories before and after a given one in a list. Both are found by its sort key, so the cost does not depend on the length of the
// list, and new entries do not shift them.
import type { Store } from '../../../streams/core/ports.ts';
import { listTrajectories, type TrajectoryFilter, type TrajectoryOrder } from './trajectories.reader.ts';

interface PlaceOfAttempt {
  readonly trajectory_id: string;
  readonly attempt: number;
}

interface TrajectoryNeighbors {
  readonly previous: PlaceOfAttempt | null;
  readonly next: PlaceOfAttempt | null;
}

/** `at` need not match the filter. Both neighbors are null while `at` is unfinished, because it is in no list yet. */
export async function readNeighbors(
  store: Store,
  run: string,
  { at, order, ...filter }: TrajectoryFilter & TrajectoryOrder & { readonly at: PlaceOfAttempt },
): Promise<TrajectoryNeighbors> {
  const beside = async (direction: 'asc' | 'desc'): Promise<PlaceOfAttempt | null> => {
    const request = { ...filter, order: direction, beside: at, limit: 1, fields: ['trajectory_id', 'attempt'] };
    const { items } = await listTrajectories(store, run, request);
    const [first] = items;
    return first === undefined ? null : { trajectory_id: first.trajectory_id, attempt: first.attempt };
  };
  const [earlier, later] = await Promise.all([beside('desc'), beside('asc')]);
  return order === 'asc' ? { previous: earlier, next: later } : { previous: later, next: earlier };
}
