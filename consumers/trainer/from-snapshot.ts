// Brings the state of a snapshot up to the end of the ledger. Only entries after the snapshot are read: the hash of the last entry that it
// covers also covers every entry before, so that a restart does not depend on the length of the run.
import type { Position } from '../../schemas/generated/events.ts';
import { entryHash, follows } from '../../streams/ledger/chain.ts';
import { entriesOf, type ReadEntry } from '../../streams/ledger/read-ledger.ts';
import { foldLedger } from '../../streams/run/fold.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import { resumeIn, type LedgerSearchOptions } from './find-ledger.ts';
import { unpackSnapshot, type RunSnapshot, type SnapshotStore } from './snapshot.ts';

/** A snapshot that is more records than this behind the newest resume point is not used: recovery starts at that point instead. */
const MOST_BEHIND = 500_000;

export interface SnapshotSource extends LedgerSearchOptions {
  /** A cache: without it, or if it does not match this log, the whole ledger is read. */
  readonly snapshots?: Pick<SnapshotStore, 'read'>;
}

/** Undefined if there is no snapshot, it does not belong to this ledger, or it is so old that it saves nothing. */
export async function fromSnapshot(source: SnapshotSource): Promise<RunSnapshot | undefined> {
  const bytes = await source.snapshots?.read();
  const snapshot = bytes === undefined ? undefined : unpackSnapshot(bytes, source.runId);
  if (snapshot === undefined || snapshot.state.chain.sequence === 0) return undefined;
  return (await foldRest(source, snapshot.state)) ? snapshot : undefined;
}

/** False if the ledger does not continue the snapshot. */
async function foldRest(source: LedgerSearchOptions, state: RunState): Promise<boolean> {
  let isKnown = false;
  let resume: readonly Position[] = [];
  for await (const read of entriesOf(source, new Map([[0, state.ledgerPosition - 1]]))) {
    if (!isKnown) {
      if (!isLastOf(state, read)) return false;
      isKnown = true;
      continue;
    }
    const { entry, body, offset } = read;
    if (!follows(state.chain, entry)) return false;
    foldLedger(state, entry, { body, offset });
    resume = resumeIn(entry)?.rollouts ?? resume;
  }
  return isKnown && behind(state, resume) <= MOST_BEHIND;
}

/** Whether it is the last entry that the snapshot covers. */
const isLastOf = ({ chain, ledgerPosition }: RunState, { entry: { event }, body, offset }: ReadEntry): boolean =>
  offset === ledgerPosition - 1 && event.sequence === chain.sequence - 1 && entryHash(body) === chain.previousSha256;

const behind = ({ rolloutPositions }: RunState, resume: readonly Position[]): number =>
  resume.reduce((sum, { partition, offset }) => sum + Math.max(0, offset - (rolloutPositions.get(partition) ?? 0)), 0);
