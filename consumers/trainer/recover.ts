// Rebuilds the state of a run from the log after this process became its only writer: the ledger and the tasks can no longer change while
// it reads them.
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { LogReader, RunStart, SkippedRange } from '../../streams/core/ports.ts';
import { foldTask, raise } from '../../streams/run/fold.ts';
import { newRunState, type RecordMark, type RunState } from '../../streams/run/run-state.ts';
import { isStillThere } from './cut-log.ts';
import { batchesOf, ofRun } from '../../streams/core/read-log.ts';
import { findLedger, type FoldedLedger, type LedgerSearchOptions } from './find-ledger.ts';
import { fromSnapshot, type SnapshotSource } from './from-snapshot.ts';

export interface RecoverySource extends SnapshotSource {
  /** The marks that the newest step committed, by partition. */
  readonly marks?: () => Promise<ReadonlyMap<number, RecordMark>>;
  /** The log was cut, so marks are looked up. Otherwise the feed checks them as it reads on, at no cost. */
  readonly afterCut?: boolean;
}

export interface Recovered {
  /** Folded up to the ends of the ledger and the tasks, with the positions at which to continue reading rollouts. */
  readonly state: RunState;
  readonly skipped: readonly SkippedRange[];
  /** Partitions that were cut after the resume point and are read again from their first record. */
  readonly cut: readonly CutPartition[];
  /** No record of the run precedes it. */
  readonly start: RunStart;
}

interface CutPartition {
  readonly topic: 'tasks' | 'rollouts';
  readonly partition: number;
  /** First offset of the partition. */
  readonly first: number;
}

export async function recoverRun(source: RecoverySource): Promise<Recovered> {
  // Read before checking whether the run exists: a trainer that starts the run later writes after these ends.
  const ends = await endsOfLog(source.log);
  const found = (await keptState(source)) ?? (await fromLedger(source, ends));
  if (found === undefined) return { state: newRunState(source.runId), skipped: [], cut: [], start: ends };
  const { state } = found;
  const skipped = [
    ...(await skippedOf(source.log, 'tasks', state.taskPositions)),
    ...(await skippedOf(source.log, 'rollouts', state.rolloutPositions)),
  ];
  await readTasks(source, state);
  return { ...found, skipped };
}

async function endsOfLog(log: LogReader): Promise<RunStart> {
  const [training, policies, rollouts, tasks] = await Promise.all([
    log.bounds('training'),
    log.bounds('policies'),
    log.bounds('rollouts'),
    log.bounds('tasks'),
  ]);
  if (training.length !== 1) {
    throw new PlatformError(
      'TOPIC_MISMATCH',
      `starting a trainer: training has ${training.length} partitions and must have exactly 1, for a ledger has one order; use another namespace`,
    );
  }
  return { training: training[0]?.end ?? 0, policies: policies[0]?.end ?? 0, rollouts: endsOf(rollouts), tasks: endsOf(tasks) };
}

const endsOf = (bounds: Awaited<ReturnType<LogReader['bounds']>>): readonly number[] => {
  const ends: number[] = [];
  for (const { partition, end } of bounds) ends[partition] = end;
  return ends;
};

type RecoveredRun = Omit<Recovered, 'skipped'>;

async function fromLedger(source: RecoverySource, ends: RunStart): Promise<RecoveredRun | undefined> {
  const ledger = await findLedger(source, ends);
  return ledger === undefined ? undefined : atResumePoint(source, ledger);
}

/** A partition that was cut since is read from its first record, because the position of the cut is unknown. */
async function atResumePoint(source: RecoverySource, { state, resume, start }: FoldedLedger): Promise<RecoveredRun> {
  for (const { partition, offset } of resume.tasks) state.taskPositions.set(partition, offset);
  for (const { partition, offset } of resume.rollouts) state.rolloutPositions.set(partition, offset);
  for (const [partition, mark] of (await source.marks?.()) ?? []) state.rolloutMarks.set(partition, mark);
  const cut = await cutOf(source, state);
  for (const { topic, partition, first } of cut) {
    const positions = topic === 'tasks' ? state.taskPositions : state.rolloutPositions;
    positions.set(partition, first);
    if (topic === 'rollouts') state.rolloutMarks.delete(partition);
  }
  return { state, cut, start };
}

async function cutOf(
  { log, afterCut = false }: RecoverySource,
  { taskPositions, rolloutPositions: read, rolloutMarks }: RunState,
): Promise<readonly CutPartition[]> {
  const [tasks, rollouts] = [await log.bounds('tasks'), await log.bounds('rollouts')];
  const isCut = async ({ partition, end }: { readonly partition: number; readonly end: number }): Promise<boolean> => {
    const mark = rolloutMarks.get(partition);
    if (end < (read.get(partition) ?? 0) || (mark !== undefined && end <= mark.offset)) return true;
    return afterCut && mark !== undefined && !(await isStillThere(log, { partition, mark }, rollouts));
  };
  const cut: CutPartition[] = [];
  for (const { partition, first, end } of tasks) {
    if (end < (taskPositions.get(partition) ?? 0)) cut.push({ topic: 'tasks', partition, first });
  }
  for (const at of rollouts) if (await isCut(at)) cut.push({ topic: 'rollouts', partition: at.partition, first: at.first });
  return cut;
}

/** The state of the snapshot, if it matches this log. */
async function keptState(source: RecoverySource): Promise<RecoveredRun | undefined> {
  const kept = await fromSnapshot(source);
  return kept === undefined || (await cutOf(source, kept.state)).length > 0 ? undefined : { ...kept, cut: [] };
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

/** Reads from the state's positions on. */
async function readTasks({ log, events, runId }: LedgerSearchOptions, state: RunState): Promise<void> {
  const isOwn = ofRun(runId);
  for await (const { partition, records, nextOffset } of batchesOf(log, 'tasks', { from: new Map(state.taskPositions) })) {
    for (const record of records.filter(isOwn)) {
      const read = await events.read(record);
      if (read.ok && read.value.type === 'TrajectoryRequested' && isKnown(state, read.value.event)) {
        foldTask(state, read.value.event, { partition, offset: record.offset });
      }
    }
    raise(state.taskPositions, { partition, offset: nextOffset - 1 });
  }
}

/** False for a group that is neither open nor remembered as closed: it was closed long ago, and a cut makes its tasks be read again. */
const isKnown = ({ admitted, closed }: RunState, { group_id: id, purpose }: TrajectoryRequested): boolean =>
  purpose !== 'train' || admitted.has(id) || closed.has(id);
