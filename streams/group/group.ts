// A group: the trajectories of one question in one admission. It is ready when each trajectory either has a finished attempt that counts or
// has used up its attempts, and at least two have one that counts. In a run that waits for attached rewards, an attempt counts once it has them.
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import { isRewarded, newAttempt, statusOf, type Attempt } from '../trajectory/attempt.ts';

/** A trajectory needs a request before any of its records are folded; the latest request is the attempt in progress. */
export interface Trajectory {
  readonly id: string;
  readonly sample: number;
  /** The newest request, used to request the next attempt. */
  request: TrajectoryRequested;
  requestPartition: number;
  requestOffset: number;
  readonly attempts: Map<number, Attempt>;
  /** The attempt of the last record; usually the next record belongs to it too. */
  latest: Attempt | undefined;
  /** Number of the first attempt that finished and counts; undefined if there is none yet. */
  winner: number | undefined;
  /** The winner has every reward that its run waits for. */
  settled: boolean;
  /** Set when the last attempt was given up, or the wait for its rewards. */
  exhausted: boolean;
}

export interface TaskPlace {
  readonly partition: number;
  readonly offset: number;
}

/** Position of a request that the ledger mentions but `tasks` no longer holds. */
export const LOST: TaskPlace = { partition: -1, offset: -1 };

/** The newest request of the trajectory is no longer in the log, so no worker can take it. */
export const isRequestLost = ({ requestPartition }: Pick<Trajectory, 'requestPartition'>): boolean => requestPartition === LOST.partition;

export interface Group {
  readonly id: string;
  readonly questionId: string;
  readonly size: number;
  /** Names of the attached rewards that each winner must have, sorted. */
  readonly awaited: readonly string[];
  /** Order of admission within the run. */
  readonly order: number;
  readonly trajectories: Map<string, Trajectory>;
  /** Task records of this group; they hold back the resume point. */
  readonly tasks: TaskPlace[];
  /** Lowest rollout offset by partition; one partition, since the group is the key. */
  readonly firstOffsets: Map<number, number>;
  /** Partition of the last record and its lowest offset: caches firstOffsets. */
  lastPartition: number;
  lastFirst: number;
  /** Trajectories that are settled or exhausted. */
  resolved: number;
  /** A reward of any name was attached to one of its attempts. */
  hasAttached: boolean;
}

export function newGroup(request: TrajectoryRequested, awaited: readonly string[] = []): Group {
  return {
    id: request.group_id,
    questionId: request.question_id,
    size: request.group_size,
    awaited,
    order: request.group_index,
    trajectories: new Map(),
    tasks: [],
    firstOffsets: new Map(),
    lastPartition: -1,
    lastFirst: -1,
    resolved: 0,
    hasAttached: false,
  };
}

/** Folds a request. Repeating a request changes nothing. */
export function foldRequest(group: Group, request: TrajectoryRequested, place: TaskPlace): void {
  const known = group.trajectories.get(request.trajectory_id);
  if (known === undefined) {
    group.trajectories.set(request.trajectory_id, {
      id: request.trajectory_id,
      sample: request.sample,
      request,
      requestPartition: place.partition,
      requestOffset: place.offset,
      attempts: new Map(),
      latest: undefined,
      winner: undefined,
      settled: false,
      exhausted: false,
    });
  } else if (request.attempt > known.request.attempt) {
    known.request = request;
    known.requestPartition = place.partition;
    known.requestOffset = place.offset;
  } else {
    return;
  }
  if (place.partition !== LOST.partition) group.tasks.push(place);
}

/**
 * The attempt with this number, created if new; undefined for an invalid number. It does not check whether the attempt was requested,
 * because a record must count the same before and after its request is known.
 */
export function attemptOf(trajectory: Trajectory, number: number): Attempt | undefined {
  if (trajectory.latest?.number === number) return trajectory.latest;
  const known = trajectory.attempts.get(number);
  if (known === undefined && !(Number.isInteger(number) && number >= 0)) return undefined;
  const attempt = known ?? newAttempt(number);
  trajectory.attempts.set(number, attempt);
  trajectory.latest = attempt;
  return attempt;
}

/** Call when an attempt that has ended has changed: the first that counts becomes the winner. */
export function noteEnding(group: Group, trajectory: Trajectory, attempt: Attempt): void {
  if (trajectory.winner === undefined && statusOf(attempt) === 'usable') trajectory.winner = attempt.number;
  if (trajectory.settled || trajectory.winner !== attempt.number || !isRewarded(attempt, group.awaited)) return;
  trajectory.settled = true;
  if (!trajectory.exhausted) group.resolved += 1;
}

/** Call when the last attempt, or the wait for its rewards, was given up. A late finish still counts until the group is closed. */
export function noteExhausted(group: Group, trajectory: Trajectory): void {
  if (trajectory.exhausted) return;
  trajectory.exhausted = true;
  if (!trajectory.settled) group.resolved += 1;
}

/** All requested trajectories have an outcome. */
export const isResolved = (group: Group): boolean => group.trajectories.size >= group.size && group.resolved >= group.trajectories.size;

/** Records the position of a rollout record of the group. */
export function notePlace(group: Group, { partition, offset }: TaskPlace): void {
  if (partition === group.lastPartition && offset >= group.lastFirst) return;
  const first = Math.min(offset, group.firstOffsets.get(partition) ?? offset);
  group.firstOffsets.set(partition, first);
  group.lastPartition = partition;
  group.lastFirst = first;
}

export interface FinishedTrajectory {
  readonly trajectory: Trajectory;
  readonly attempt: Attempt;
}

/** Trajectories with an attempt that counts, by sample. */
export function finishedOf(group: Group): readonly FinishedTrajectory[] {
  const finished: FinishedTrajectory[] = [];
  for (const trajectory of group.trajectories.values()) {
    const attempt = trajectory.settled ? trajectory.attempts.get(trajectory.winner ?? -1) : undefined;
    if (attempt !== undefined) finished.push({ trajectory, attempt });
  }
  return finished.sort((a, b) => a.trajectory.sample - b.trajectory.sample);
}
