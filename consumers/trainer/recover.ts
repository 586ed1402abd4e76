// Rebuilds the state of a run from the log after this process became its only writer: nothing that it reads of the
// ledger and the tasks can change any more.
import { bodyOf } from '../../schemas/framing.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, LogReader, LogRecord, Position } from '../../streams/core/ports.ts';
import { entryHash, isLedgerType, type LedgerEntry } from '../../streams/ledger/chain.ts';
import { foldLedger, foldTask, raise } from '../../streams/run/fold.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import type { Resume } from '../../schemas/generated/events.ts';
import { unpackSnapshot, type SnapshotStore } from './snapshot.ts';

export interface RecoverDeps {
  readonly runId: string;
  readonly log: LogReader;
  readonly events: EventReader;
  /** Saves refolding what is in it; nothing else depends on it. */
  readonly snapshots?: Pick<SnapshotStore, 'read'>;
}

interface StoredEntry {
  readonly entry: LedgerEntry;
  readonly body: Buffer;
  readonly offset: number;
}

/** True for records of this run; decided by the header, so that others are not decoded. */
export function ofRun(record: LogRecord, runId: string): boolean {
  const header = record.headers['run-id'];
  return header?.toString() === runId;
}

/** The folded state up to the ends of the ledger and the tasks, and where to go on reading rollouts. */
export async function recoverRun(deps: RecoverDeps): Promise<RunState> {
  const entries = await readLedger(deps);
  checkChain(entries);
  const resume = lastResume(entries);
  if (resume === undefined) return newRunState(deps.runId);
  const kept = await fromSnapshot(deps, entries, resume.at);
  if (kept === undefined) return fromResume(deps, entries, resume);
  for (const { entry, body, offset } of entries) if (offset >= kept.ledgerPosition) foldLedger(kept, entry, { body, offset });
  await readTasks(deps, kept);
  return kept;
}

async function fromResume(
  deps: RecoverDeps,
  entries: readonly StoredEntry[],
  resume: { readonly at: Resume; readonly sequence: number },
): Promise<RunState> {
  const state = newRunState(deps.runId);
  state.counters.admittedGroups = resume.at.admitted_groups;
  state.counters.trainedGroups = resume.at.trained_groups;
  state.counters.discardedGroups = resume.at.discarded_groups;
  state.countedSequence = resume.sequence;
  for (const { entry, body, offset } of entries) {
    if (offset >= resume.at.ledger_offset || entry.type === 'RunStarted') foldLedger(state, entry, { body, offset });
  }
  for (const { partition, offset } of resume.at.tasks) state.taskPositions.set(partition, offset);
  await readTasks(deps, state);
  for (const { partition, offset } of resume.at.rollouts) state.rolloutPositions.set(partition, offset);
  return state;
}

/** The state of a snapshot, if it is of this ledger and of this log, and saves anything. */
async function fromSnapshot(deps: RecoverDeps, entries: readonly StoredEntry[], resume: Resume): Promise<RunState | undefined> {
  const bytes = await deps.snapshots?.read();
  const state = bytes === undefined ? undefined : unpackSnapshot(bytes, deps.runId);
  if (state === undefined) return undefined;
  const last = entries[state.chain.sequence - 1];
  if (last === undefined || entryHash(last.body) !== state.chain.previousSha256 || last.offset + 1 !== state.ledgerPosition)
    return undefined;
  const saved = [...state.rolloutPositions.values()].reduce((sum, offset) => sum + offset, 0);
  if (saved < resume.rollouts.reduce((sum, { offset }) => sum + offset, 0)) return undefined;
  const within = async (topic: 'tasks' | 'rollouts', positions: ReadonlyMap<number, number>): Promise<boolean> =>
    (await deps.log.bounds(topic)).every(({ partition, end }) => (positions.get(partition) ?? 0) <= end);
  return (await within('tasks', state.taskPositions)) && (await within('rollouts', state.rolloutPositions)) ? state : undefined;
}

async function readLedger(deps: RecoverDeps): Promise<readonly StoredEntry[]> {
  const entries: StoredEntry[] = [];
  await deps.log.readToEnd('training', {
    onBatch: async (batch) => {
      for (const record of batch.records) {
        if (!ofRun(record, deps.runId) || record.value === null) continue;
        const read = await deps.events.read(record);
        if (read.ok && isLedgerType(read.value.type)) {
          entries.push({ entry: read.value as LedgerEntry, body: bodyOf(record.value), offset: record.offset });
        }
      }
    },
  });
  return entries;
}

function checkChain(entries: readonly StoredEntry[]): void {
  let [sequence, previous] = [0, ''];
  for (const { entry, body, offset } of entries) {
    const { event } = entry;
    if (event.sequence !== sequence || (sequence > 0 && event.previous_sha256 !== previous)) {
      throw new PlatformError(
        'LEDGER_BROKEN',
        `resuming run ${event.run_id}: entry ${event.sequence} at offset ${offset} of training does not follow entry ${sequence - 1}; run turnstream ledger verify`,
      );
    }
    sequence += 1;
    previous = entryHash(body);
  }
}

function lastResume(entries: readonly StoredEntry[]): { readonly at: Resume; readonly sequence: number } | undefined {
  for (let i = entries.length - 1; i >= 0; i -= 1) {
    const entry = entries[i]?.entry;
    if (entry?.type === 'StepCompleted' || entry?.type === 'RunStarted') return { at: entry.event.resume, sequence: entry.event.sequence };
  }
  return undefined;
}

/** From the positions of the state on. */
async function readTasks(deps: RecoverDeps, state: RunState): Promise<void> {
  await deps.log.readToEnd('tasks', {
    from: new Map(state.taskPositions),
    onBatch: async (batch) => {
      for (const record of batch.records) {
        if (!ofRun(record, deps.runId)) continue;
        const read = await deps.events.read(record);
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
