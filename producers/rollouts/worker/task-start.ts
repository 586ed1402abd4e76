// Determines where a worker starts to read the tasks of its partitions: only at the committed offsets of its group.
//
// A group without committed offsets, because the run is new or Kafka has expired the offsets of a group that was empty for days, does not
// tell which tasks were claimed before: starting at the first task would run old attempts again. The trainer knows which tasks are
// unclaimed and commits the start for the group (consumers/trainer/task-start.ts); until then the worker waits. A finished run has no
// trainer and no wanted tasks, but evaluations may come: there the worker starts at the end. So does a worker of one evaluation, which has
// no trainer either: its evaluator sets the start before it requests anything, and requests again what is lost.
import { isPlatformError, messageOf } from '../../../streams/core/errors.ts';
import type { Clock, GroupOffsets, GroupSession, LogReader, Position, RunIndex } from '../../../streams/core/ports.ts';
import { batchesOf, ofRun } from '../../../streams/core/read-log.ts';

/** Checking whether the run is finished reads its ledger, so it is done only once per this many checks of the offsets. */
const LOOKS_A_READ = 50;

export interface TaskStartOptions {
  readonly runId: string;
  /** Evaluation whose tasks alone the worker takes; by default it takes those of the run. */
  readonly addressee?: string | undefined;
  readonly group: string;
  readonly offsets: GroupOffsets;
  readonly log: LogReader;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Where runs begin; without it, all of `training` is searched. */
  readonly index?: RunIndex | undefined;
  /** Interval between checks, ms. */
  readonly lookMs: number;
  /** Called with the reason for waiting, and with undefined once there is none. */
  readonly onWaiting: (detail: string | undefined) => void;
}

/** Positions for all of the partitions. Rejects with GROUP_FENCED when the session ends first. */
export async function startOfTasks(
  options: TaskStartOptions,
  partitions: readonly number[],
  session: GroupSession,
): Promise<readonly Position[]> {
  for (let look = 0; ; look += 1) {
    await session.heartbeat();
    try {
      const ends = look % LOOKS_A_READ === 0 ? endsWithoutTrainer : undefined;
      const positions = (await committed(options, partitions)) ?? (await ends?.(options, partitions));
      if (positions !== undefined) {
        options.onWaiting(undefined);
        return positions;
      }
      options.onWaiting(`for the trainer of run ${options.runId} to say where its tasks begin`);
    } catch (error) {
      if (!isPlatformError(error) || !error.retriable) throw error;
      options.onWaiting(messageOf(error));
    }
    await options.clock.sleep(options.lookMs);
  }
}

/** Undefined while one of the partitions has no committed offset. */
async function committed(options: TaskStartOptions, partitions: readonly number[]): Promise<readonly Position[] | undefined> {
  const found = new Map((await options.offsets.fetch(options.group, 'tasks')).map(({ partition, offset }) => [partition, offset]));
  const positions = partitions.map((partition) => ({ topic: 'tasks' as const, partition, offset: found.get(partition) ?? -1 }));
  return positions.every(({ offset }) => offset >= 0) ? positions : undefined;
}

async function endsWithoutTrainer(options: TaskStartOptions, partitions: readonly number[]): Promise<readonly Position[] | undefined> {
  const { addressee = '' } = options;
  if (addressee === '' && !(await isFinished(options))) return undefined;
  const bounds = await options.log.bounds('tasks');
  return bounds.flatMap(({ partition, end }) =>
    partitions.includes(partition) ? [{ topic: 'tasks' as const, partition, offset: end }] : [],
  );
}

/** Uses only the headers: nothing is decoded. */
async function isFinished({ runId, log, index }: TaskStartOptions): Promise<boolean> {
  const start = index === undefined ? { training: 0 } : await index.startOf(runId);
  if (start === undefined) return false;
  let finished = false;
  const isOwn = ofRun(runId);
  for await (const { records } of batchesOf(log, 'training', { from: new Map([[0, start.training]]) })) {
    for (const { headers } of records.filter(isOwn)) {
      const type = headers['ce_type']?.toString() ?? '';
      if (type.endsWith('.RunFinished')) finished = true;
      // the run is trained further: its trainer says where its tasks continue
      if (type.endsWith('.RunContinued')) finished = false;
    }
  }
  return finished;
}
