// What the ledger says of an external trainer: who has claimed the run, which batches are out, and what was committed. A fold of ledger
// entries alone, so that a coordinator that is replaced goes on with the same claim and the same leases.
import type { BatchLeased, StepCompleted, TrainerClaimed } from '../../schemas/generated/events.ts';
import type { LedgerEntry } from '../ledger/chain.ts';

/** A version of the chain that a trainer can come back to. */
export interface Commit {
  /** 0 is the start of the run. */
  readonly version: number;
  /** Empty for the start of the run. */
  readonly batchId: string;
  /** Lineage token: SHA-256 (hex) of the body of its ledger entry. */
  readonly lineage: string;
  readonly weightsSha256: string;
  /** What was sent with the commit, hashed. */
  readonly reportSha256: string;
}

export interface LeaseBook {
  /** Of the newest claim; 0 = nobody has claimed the run. */
  epoch: number;
  trainerId: string;
  /** Batches that are out, in the order of their steps. */
  readonly out: BatchLeased[];
  /** Leases made so far of steps that are not committed, by step. */
  readonly tries: Map<number, number>;
  /** The newest commits, oldest first. */
  readonly commits: Commit[];
}

/** A trainer that comes back with a lineage token older than this many commits is a stranger. */
const REMEMBERED = 1_000;

export const newLeaseBook = (): LeaseBook => ({ epoch: 0, trainerId: '', out: [], tries: new Map(), commits: [] });

export type LeaseEntry = Extract<LedgerEntry, { readonly type: 'TrainerClaimed' | 'BatchLeased' | 'BatchReleased' }>;

/** True for an entry that is about leases and nothing else. */
export const isOfLeases = (entry: LedgerEntry): entry is LeaseEntry =>
  entry.type === 'TrainerClaimed' || entry.type === 'BatchLeased' || entry.type === 'BatchReleased';

/** Folds any entry of the ledger; `lineage` is the hash of its body. */
export function foldLeases(book: LeaseBook, { type, event }: LedgerEntry, lineage: string): void {
  if (type === 'RunStarted') addCommit(book, { version: 0, batchId: '', lineage, weightsSha256: event.weights_sha256, reportSha256: '' });
  if (type === 'TrainerClaimed') foldClaim(book, event);
  if (type === 'BatchLeased') foldLease(book, event);
  if (type === 'BatchReleased') foldRelease(book, event.batch_id);
  if (type === 'StepCompleted' && event.batch_id !== '') foldCommit(book, event, lineage);
}

function foldClaim(book: LeaseBook, { epoch, trainer_id: trainerId, prepared }: TrainerClaimed): void {
  book.epoch = epoch;
  book.trainerId = trainerId;
  book.out.forEach((lease, i) => {
    if (lease.batch_id === prepared) book.out[i] = { ...lease, epoch };
  });
}

function foldLease(book: LeaseBook, lease: BatchLeased): void {
  book.out.push(lease);
  book.tries.set(lease.step, (book.tries.get(lease.step) ?? 0) + 1);
}

function foldRelease(book: LeaseBook, batchId: string): void {
  const at = book.out.findIndex((lease) => lease.batch_id === batchId);
  if (at >= 0) book.out.splice(at, 1);
}

function foldCommit(book: LeaseBook, step: StepCompleted, lineage: string): void {
  foldRelease(book, step.batch_id);
  book.tries.delete(step.step);
  addCommit(book, {
    version: step.version_after,
    batchId: step.batch_id,
    lineage,
    weightsSha256: step.weights_sha256,
    reportSha256: step.report_sha256,
  });
}

function addCommit(book: LeaseBook, commit: Commit): void {
  book.commits.push(commit);
  if (book.commits.length > REMEMBERED) book.commits.shift();
}

const BATCH = /^([a-z0-9][a-z0-9-]{0,62})\/step\/(\d{1,9})\.(\d{1,9})$/;

export const batchIdOf = (runId: string, step: number, tried: number): string => `${runId}/step/${step}.${tried}`;

/** Undefined for what is no id of a batch. */
export function parseBatchId(id: string): { readonly runId: string; readonly step: number; readonly tried: number } | undefined {
  const [, runId, step, tried] = BATCH.exec(id) ?? [];
  return runId === undefined ? undefined : { runId, step: Number(step), tried: Number(tried) };
}
