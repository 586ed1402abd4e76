// The ledger of one run, folded as it is read: its chain is checked on the way, and nothing of it is kept but the state, which
// forgets what lies behind the newest resume point. Memory follows what is open and not how long the run is.
import type { Resume } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, LogReader, RunIndex, RunStart } from '../../streams/core/ports.ts';
import { entriesOf } from '../../streams/ledger/read-ledger.ts';
import type { LedgerEntry } from '../../streams/ledger/chain.ts';
import { foldLedger } from '../../streams/run/fold.ts';
import { forgetBehind } from '../../streams/run/resume.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import { unpackSnapshot, type SnapshotStore } from './snapshot.ts';

export interface LedgerSource {
  readonly runId: string;
  readonly log: LogReader;
  readonly events: EventReader;
  /** Where the run begins; the whole of `training` is looked through unless given. */
  readonly starts?: {
    /** What the run's own transactions committed; undefined when Kafka knows nothing of it. */
    readonly committed: () => Promise<RunStart | undefined>;
    readonly index: RunIndex;
  };
  /** Saves refolding what is in it; nothing else depends on it. */
  readonly snapshots?: Pick<SnapshotStore, 'read'>;
}

export interface FoldedLedger {
  /** Of the ledger alone. */
  readonly state: RunState;
  /** The state of a snapshot that is of this ledger, with every entry since then. */
  readonly kept: RunState | undefined;
  readonly resume: Resume;
  /** The first entry of the run lies there. */
  readonly start: RunStart;
}

/**
 * Reads it from where Kafka or the index says that it begins, which counts only when the first entry of the run is there, or
 * else from the beginning of the topic. Undefined for a run that is new. `ends` are those of the log before this call.
 */
export async function findLedger(source: LedgerSource, ends: RunStart): Promise<FoldedLedger | undefined> {
  const known = source.starts === undefined ? 'elsewhere' : await readKnown(source, source.starts, ends);
  const found = known === 'elsewhere' ? await readFrom(source, { training: 0, policies: 0 }) : known;
  if (found === 'none') return undefined;
  if (found !== 'elsewhere') return found;
  throw new PlatformError(
    'LEDGER_BROKEN',
    `resuming run ${source.runId}: the first entry of its ledger is missing; run turnstream ledger verify`,
  );
}

type Found = FoldedLedger | 'none' | 'elsewhere';

async function readKnown(source: LedgerSource, { committed, index }: NonNullable<LedgerSource['starts']>, ends: RunStart): Promise<Found> {
  const own = await committed();
  const found = own === undefined ? 'none' : await readFrom(source, own);
  if (typeof found !== 'string') return found;
  const start = await index.startOf(source.runId);
  // An index of a topic that was made anew since says nothing; nor does it of a run whose group Kafka knows.
  if (start === undefined) return own === undefined ? 'none' : 'elsewhere';
  const indexed = start.training > ends.training ? 'elsewhere' : await readFrom(source, start);
  return indexed === 'none' && own !== undefined ? 'elsewhere' : indexed;
}

/** 'none' when the run has no entry from there on, 'elsewhere' when its first one lies before. */
async function readFrom(source: LedgerSource, start: RunStart): Promise<Found> {
  const snapshot = await source.snapshots?.read();
  const fold = new LedgerFold(source.runId, snapshot === undefined ? undefined : unpackSnapshot(snapshot, source.runId));
  for await (const { entry, body, offset } of entriesOf(source, new Map([[0, start.training]]))) {
    if (fold.isEmpty() && entry.event.sequence !== 0) return 'elsewhere';
    fold.take(entry, body, offset);
  }
  return fold.result(start) ?? 'none';
}

class LedgerFold {
  readonly #state: RunState;
  readonly #snapshot: RunState | undefined;
  #kept: RunState | undefined;
  #resume: Resume | undefined;
  #first = -1;

  constructor(runId: string, snapshot: RunState | undefined) {
    this.#state = newRunState(runId);
    this.#snapshot = snapshot;
  }

  isEmpty(): boolean {
    return this.#first < 0;
  }

  /** The first entry is the one with the sequence 0. */
  take(entry: LedgerEntry, body: Buffer, offset: number): void {
    this.#check(entry, offset);
    foldLedger(this.#state, entry, { body, offset });
    if (this.#kept !== undefined) foldLedger(this.#kept, entry, { body, offset });
    else if (this.#isAt(this.#snapshot)) this.#kept = this.#snapshot;
    if (entry.type !== 'StepCompleted' && entry.type !== 'BatchCollected' && entry.type !== 'RunStarted') return;
    this.#resume = entry.event.resume;
    forgetBehind(this.#state, this.#resume);
  }

  result({ policies }: RunStart): FoldedLedger | undefined {
    if (this.#resume === undefined) return undefined;
    return { state: this.#state, kept: this.#kept, resume: this.#resume, start: { training: this.#first, policies } };
  }

  #check({ event }: LedgerEntry, offset: number): void {
    const { sequence, previousSha256 } = this.#state.chain;
    if (this.isEmpty()) {
      this.#first = offset;
    } else if (event.sequence !== sequence || event.previous_sha256 !== previousSha256) {
      throw new PlatformError(
        'LEDGER_BROKEN',
        `resuming run ${event.run_id}: entry ${event.sequence} at offset ${offset} of training does not follow entry ${sequence - 1}; run turnstream ledger verify`,
      );
    }
  }

  /** The snapshot was taken right behind the entry that was folded last. */
  #isAt(snapshot: RunState | undefined): boolean {
    const { chain, ledgerPosition } = this.#state;
    return (
      snapshot?.chain.sequence === chain.sequence &&
      snapshot.chain.previousSha256 === chain.previousSha256 &&
      snapshot.ledgerPosition === ledgerPosition
    );
  }
}
