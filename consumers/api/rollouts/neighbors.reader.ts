// The trajectories before and after one in a list. Both are found by its sort key, so the cost does not depend on the length of the list, and
// new entries do not shift them.
import type { Store } from '../../../streams/core/ports.ts';
import { listTrajectories, type TrajectoryFilter } from './trajectories.reader.ts';

interface PlaceOfAttempt {
  readonly trajectory_id: string;
  readonly attempt: number;
}

interface TrajectoryNeighbors {
  readonly previous: PlaceOfAttempt | null;
  readonly next: PlaceOfAttempt | null;
}

/** `at` need not fit the filter itself. Both are null when it has not finished: then it is in no list. */
export async function readNeighbors(
  store: Store,
  run: string,
  { at, order, ...filter }: TrajectoryFilter & { readonly at: PlaceOfAttempt; readonly order: 'asc' | 'desc' },
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
