// Sets the offsets from which the workers' group takes tasks, where it has none: for a new run, when `tasks` gets more partitions, and when
// Kafka has expired the offsets of a group that was empty for days. Workers do not take a task from a partition without an offset
// (producers/rollouts/worker/task-start.ts), so nobody can claim there meanwhile, and the trainer's transaction prevents a replaced trainer
// from doing this again.
//
// Tasks of a partition are claimed in order, so the unclaimed ones are the last: the start is after the last task that must have been
// claimed, because its group is closed, its attempt was started or given up, or its purpose is another one. Claims that were lost at the
// very end are thereby repeated, once; claims that were lost before the start come back as the next attempts, as always; evaluations repeat
// their requests by themselves.
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import type {
  EventRead,
  EventReader,
  LogReader,
  LogRecord,
  Position,
  TransactionalWriter,
  CommittedOffsets,
} from '../../streams/core/ports.ts';
import { runEvents } from '../../streams/core/read-log.ts';
import { resumeOf } from '../../streams/run/resume.ts';
import type { RunState } from '../../streams/run/run-state.ts';

export interface TaskStartDeps {
  readonly state: RunState;
  readonly log: LogReader;
  readonly events: EventReader;
  readonly writer: TransactionalWriter;
  readonly groups: { readonly workers: string };
}

/**
 * Commits a start for the partitions without one that are not in `placed`, and adds them to it: a commit may become visible with a delay,
 * and a second commit could undo claims that a worker made in between.
 */
export async function placeWorkers(deps: TaskStartDeps, committed: CommittedOffsets, placed: Set<number>): Promise<void> {
  const missing = committed.filter(({ partition, offset }) => offset < 0 && !placed.has(partition)).map(({ partition }) => partition);
  if (missing.length === 0) return;
  const positions = await unclaimedFrom(deps, new Set(missing));
  await deps.writer.commit({ events: [], offsets: { group: deps.groups.workers, positions } });
  for (const partition of missing) placed.add(partition);
}

/** Where the unclaimed tasks begin, by partition. Requires a state that has caught up with the log. */
async function unclaimedFrom({ state, log, events }: TaskStartDeps, partitions: ReadonlySet<number>): Promise<readonly Position[]> {
  const resume = new Map(resumeOf(state).tasks.map(({ partition, offset }) => [partition, offset]));
  const from = new Map<number, number>();
  const starts = new Map<number, number>();
  for (const { partition, first, end } of await log.bounds('tasks')) {
    from.set(partition, partitions.has(partition) ? Math.max(first, resume.get(partition) ?? first) : end);
    if (partitions.has(partition)) starts.set(partition, from.get(partition) ?? first);
  }
  const wants = ({ partition }: LogRecord): boolean => starts.has(partition);
  for await (const read of runEvents({ log, events, runId: state.runId }, 'tasks', { from, wants })) {
    if (isPassed(state, read)) starts.set(read.record.partition, read.record.offset + 1);
  }
  return [...starts].map(([partition, offset]) => ({ topic: 'tasks', partition, offset }));
}

/** True for every record that must be before the start. */
function isPassed(state: RunState, read: EventRead): boolean {
  if (!read.ok || read.value.type !== 'TrajectoryRequested') return true;
  const task = read.value.event;
  // tasks with an addressee are for other workers, so they say nothing about the claims of the run's own
  return task.addressee === '' && !mayBeUnclaimed(state, task);
}

function mayBeUnclaimed(state: RunState, task: TrajectoryRequested): boolean {
  const trajectory = state.groups.get(task.group_id)?.trajectories.get(task.trajectory_id);
  if (trajectory?.request.attempt !== task.attempt) return false;
  const attempt = trajectory.attempts.get(task.attempt);
  return attempt === undefined || attempt.workerId === '';
}
