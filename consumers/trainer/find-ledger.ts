// Reads and folds the ledger of one run: checks its chain on the way and keeps only the state, which forgets what is before the newest
// resume point. Memory depends on the open groups, not on the length of the run.
import type { Resume } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, LogReader, RunIndex, RunStart } from '../../streams/core/ports.ts';
import { entriesOf } from '../../streams/ledger/read-ledger.ts';
import { follows, type LedgerEntry } from '../../streams/ledger/chain.ts';
import { foldLedger } from '../../streams/run/fold.ts';
import { forgetBehind } from '../../streams/run/resume.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';

export interface LedgerSearchOptions {
  readonly runId: string;
  readonly log: LogReader;
  readonly events: EventReader;
  /** Where the run begins; without it, all of `training` is searched. */
  readonly starts?: {
    /** What the run's own transactions committed; undefined when Kafka has no record of it. */
    readonly committed: () => Promise<RunStart | undefined>;
    readonly index: RunIndex;
  };
}

export interface FoldedLedger {
  /** Folded from the ledger alone. */
  readonly state: RunState;
  readonly resume: Resume;
  /** Position of the run's first entry. */
  readonly start: RunStart;
}

/**
 * Reads the ledger from the start that Kafka or the index reports, which is valid only if the first entry of the run is there; otherwise
 * from the beginning of the topic. Undefined for a new run. `ends` are the ends of the log before this call.
 */
export async function findLedger(source: LedgerSearchOptions, ends: RunStart): Promise<FoldedLedger | undefined> {
  const known = source.starts === undefined ? 'elsewhere' : await readKnown(source, source.starts, ends);
  const found = known === 'elsewhere' ? await readFrom(source, { training: 0, policies: 0 }) : known;
  if (found === 'none') return undefined;
  if (found !== 'elsewhere') return found;
  throw new PlatformError(
    'LEDGER_BROKEN',
    `resuming run ${source.runId}: the first entry of its ledger is missing; run turnstream ledger verify`,
  );
}

type LedgerLookup = FoldedLedger | 'none' | 'elsewhere';

async function readKnown(
  source: LedgerSearchOptions,
  { committed, index }: NonNullable<LedgerSearchOptions['starts']>,
  ends: RunStart,
): Promise<LedgerLookup> {
  const own = await committed();
  const found = own === undefined ? 'none' : await readFrom(source, own);
  if (typeof found !== 'string') return found;
  const start = await index.startOf(source.runId);
  // An indexed start beyond the end means that the topic was recreated. 'none' from the index is wrong if the run has committed a start.
  if (start === undefined) return own === undefined ? 'none' : 'elsewhere';
  const indexed = start.training > ends.training ? 'elsewhere' : await readFrom(source, start);
  return indexed === 'none' && own !== undefined ? 'elsewhere' : indexed;
}

/** 'none' when the run has no entry from there on, 'elsewhere' when its first entry is earlier. */
async function readFrom(source: LedgerSearchOptions, start: RunStart): Promise<LedgerLookup> {
  const fold = new LedgerFold(source.runId);
  for await (const { entry, body, offset } of entriesOf(source, new Map([[0, start.training]]))) {
    if (fold.isEmpty() && entry.event.sequence !== 0) return 'elsewhere';
    fold.take(entry, body, offset);
  }
  return fold.result(start) ?? 'none';
}

class LedgerFold {
  readonly #state: RunState;
  #resume: Resume | undefined;
  #first = -1;

  constructor(runId: string) {
    this.#state = newRunState(runId);
  }

  isEmpty(): boolean {
    return this.#first < 0;
  }

  /** The first entry is the one with sequence 0. */
  take(entry: LedgerEntry, body: Buffer, offset: number): void {
    this.#check(entry, offset);
    foldLedger(this.#state, entry, { body, offset });
    const resume = resumeIn(entry);
    if (resume === undefined) return;
    this.#resume = resume;
    forgetBehind(this.#state, resume);
  }

  result({ policies }: RunStart): FoldedLedger | undefined {
    if (this.#resume === undefined) return undefined;
    return { state: this.#state, resume: this.#resume, start: { training: this.#first, policies } };
  }

  #check(entry: LedgerEntry, offset: number): void {
    const { chain } = this.#state;
    if (this.isEmpty()) {
      this.#first = offset;
    } else if (!follows(chain, entry)) {
      const { event } = entry;
      throw new PlatformError(
        'LEDGER_BROKEN',
        `resuming run ${event.run_id}: entry ${event.sequence} at offset ${offset} of training does not follow entry ${chain.sequence - 1}; run turnstream ledger verify`,
      );
    }
  }
}

/** The resume point that an entry commits. */
export const resumeIn = (entry: LedgerEntry): Resume | undefined =>
  entry.type === 'StepCompleted' || entry.type === 'BatchCollected' || entry.type === 'RunStarted' ? entry.event.resume : undefined;
