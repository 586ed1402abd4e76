// Rebuilds the state of a run from the log after this process became its only writer: nothing that it reads of the
// ledger and the tasks can change any more.
import { PlatformError } from '../../streams/core/errors.ts';
import type { LogReader, Position, RunStart, SkippedRange } from '../../streams/core/ports.ts';
import { foldTask, raise } from '../../streams/run/fold.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import { findLedger, ofRun, type FoldedLedger, type LedgerSource } from './find-ledger.ts';

export interface Recovered {
  /** Folded up to the ends of the ledger and the tasks, with the positions to go on reading rollouts from. */
  readonly state: RunState;
  readonly skipped: readonly SkippedRange[];
  /** Nothing of the run lies before it. */
  readonly start: RunStart;
}

export async function recoverRun(source: LedgerSource): Promise<Recovered> {
  // Before it is asked whether the run exists: whoever begins it later writes behind them.
  const ends = await endsOfLog(source.log);
  const ledger = await findLedger(source, ends);
  if (ledger === undefined) return { state: newRunState(source.runId), skipped: [], start: ends };
  const state = (await keptState(source.log, ledger)) ?? atResumePoint(ledger);
  const skipped = [
    ...(await skippedOf(source.log, 'tasks', state.taskPositions)),
    ...(await skippedOf(source.log, 'rollouts', state.rolloutPositions)),
  ];
  await readTasks(source, state);
  return { state, skipped, start: ledger.start };
}

async function endsOfLog(log: LogReader): Promise<RunStart> {
  const [training, policies] = await Promise.all([log.bounds('training'), log.bounds('policies')]);
  if (training.length !== 1) {
    throw new PlatformError(
      'TOPIC_MISMATCH',
      `starting a trainer: training has ${training.length} partitions and must have exactly 1, for a ledger has one order; use another namespace`,
    );
  }
  return { training: training[0]?.end ?? 0, policies: policies[0]?.end ?? 0 };
}

function atResumePoint({ state, resume }: FoldedLedger): RunState {
  for (const { partition, offset } of resume.tasks) state.taskPositions.set(partition, offset);
  for (const { partition, offset } of resume.rollouts) state.rolloutPositions.set(partition, offset);
  return state;
}

/** The state of the snapshot, if it is of this log and saves anything. */
async function keptState(log: LogReader, { kept, resume }: FoldedLedger): Promise<RunState | undefined> {
  if (kept === undefined) return undefined;
  const saved = [...kept.rolloutPositions.values()].reduce((sum, offset) => sum + offset, 0);
  if (saved < resume.rollouts.reduce((sum, { offset }) => sum + offset, 0)) return undefined;
  const within = async (topic: 'tasks' | 'rollouts', positions: ReadonlyMap<number, number>): Promise<boolean> =>
    (await log.bounds(topic)).every(({ partition, end }) => (positions.get(partition) ?? 0) <= end);
  return (await within('tasks', kept.taskPositions)) && (await within('rollouts', kept.rolloutPositions)) ? kept : undefined;
}

async function skippedOf(
  log: LogReader,
  topic: 'tasks' | 'rollouts',
  positions: ReadonlyMap<number, number>,
): Promise<readonly SkippedRange[]> {
  return (await log.bounds(topic)).flatMap(({ partition, first }) => {
    const from = positions.get(partition) ?? first;
    return from < first ? [{ topic, partition, from, to: first }] : [];
  });
}

/** From the positions of the state on. */
async function readTasks({ log, events, runId }: LedgerSource, state: RunState): Promise<void> {
  await log.readToEnd('tasks', {
    from: new Map(state.taskPositions),
    onBatch: async (batch) => {
      for (const record of batch.records) {
        if (!ofRun(record, runId)) continue;
        const read = await events.read(record);
        if (read.ok && read.value.type === 'TrajectoryRequested') {
          foldTask(state, read.value.event, { partition: record.partition, offset: record.offset });
        }
      }
      raise(state.taskPositions, { partition: batch.partition, offset: batch.nextOffset - 1 });
    },
  });
}

/** Positions to follow rollouts from. */
export const rolloutPositions = (state: RunState): readonly Position[] =>
  [...state.rolloutPositions].map(([partition, offset]) => ({ topic: 'rollouts', partition, offset }));
