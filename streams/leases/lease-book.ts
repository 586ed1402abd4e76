// What the ledger records about an external trainer: the newest claim, the leased batches, and the commits. Folded from ledger entries
// only, so that a replacement coordinator continues with the same claim and leases.
import type { BatchLeased, RunRewound, StepCompleted, TrainerClaimed, WeightsNamed } from '../../schemas/generated/events.ts';
import type { LedgerEntry, LedgerType } from '../ledger/chain.ts';

/** A committed version that a trainer can return to. */
export interface CommittedVersion {
  /** 0 is the start of the run. */
  readonly version: number;
  /** Empty for the start of the run. */
  readonly batchId: string;
  /** Lineage token: SHA-256 (hex) of the body of its ledger entry. */
  readonly lineage: string;
  /** Empty until the weights are published. */
  readonly weightsSha256: string;
  /** Hash of the report that was sent with the commit. */
  readonly reportSha256: string;
  /** Number of trajectories that its step trained on. */
  readonly trajectories: number;
  /** For a version made by a rewind, the older version that has the same weights; -1 for a step. */
  readonly rewoundTo: number;
  /** A rewind to an older version has removed it from the chain of versions. */
  readonly isAbandoned: boolean;
}

export interface LeaseBook {
  /** Epoch of the newest claim; 0 = the run has not been claimed. */
  epoch: number;
  trainerId: string;
  /** Leased batches, in the order of their steps. */
  readonly out: BatchLeased[];
  /** Number of leases granted so far for each step that is not committed. */
  readonly tries: Map<number, number>;
  /** The newest commits, oldest first. */
  readonly commits: CommittedVersion[];
}

/** A lineage token older than this many commits is rejected as unknown. */
const REMEMBERED = 1_000;

export const newLeaseBook = (): LeaseBook => ({ epoch: 0, trainerId: '', out: [], tries: new Map(), commits: [] });

const leaseTypes = ['TrainerClaimed', 'BatchLeased', 'BatchReleased'] as const satisfies readonly LedgerType[];
export type LeaseEntry = Extract<LedgerEntry, { readonly type: (typeof leaseTypes)[number] }>;
const ofLeases: ReadonlySet<LedgerType> = new Set(leaseTypes);

/** True for an entry that is only about leases. */
export const isOfLeases = (entry: LedgerEntry): entry is LeaseEntry => ofLeases.has(entry.type);

/** Folds any entry of the ledger; `lineage` is the hash of its body. */
export function foldLeases(book: LeaseBook, { type, event }: LedgerEntry, lineage: string): void {
  if (type === 'RunStarted') addCommit(book, { ...BARE, version: 0, lineage, weightsSha256: event.weights_sha256 });
  if (type === 'TrainerClaimed') foldClaim(book, event);
  if (type === 'BatchLeased') foldLease(book, event);
  if (type === 'BatchReleased') foldRelease(book, event.batch_id);
  if (type === 'StepCompleted' && event.batch_id !== '') foldCommit(book, event, lineage);
  if (type === 'WeightsNamed') foldWeights(book, event);
  if (type === 'RunRewound') foldRewind(book, event, lineage);
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
    ...{ ...BARE, version: step.version_after, batchId: step.batch_id, lineage },
    weightsSha256: step.weights_sha256,
    reportSha256: step.report_sha256,
    trajectories: step.trajectories.length,
  });
}

function foldWeights(book: LeaseBook, { version, sha256 }: WeightsNamed): void {
  const at = book.commits.findIndex((commit) => commit.version === version);
  const commit = book.commits[at];
  if (commit !== undefined) book.commits[at] = { ...commit, weightsSha256: sha256 };
}

function foldRewind(book: LeaseBook, { version, to_version: to, weights_sha256: sha256 }: RunRewound, lineage: string): void {
  book.commits.forEach((commit, i) => {
    if (commit.version > to) book.commits[i] = { ...commit, isAbandoned: true };
  });
  addCommit(book, { ...BARE, version, lineage, weightsSha256: sha256, rewoundTo: to });
}

/** Fields of a version that no step made. */
const BARE = { batchId: '', reportSha256: '', trajectories: 0, rewoundTo: -1, isAbandoned: false } as const;

/** Commits of the chain of versions that are newer than `version`, oldest first. */
export const commitsAfter = ({ commits }: LeaseBook, version: number): readonly CommittedVersion[] =>
  commits.filter((commit) => commit.version > version && !commit.isAbandoned);

function addCommit(book: LeaseBook, commit: CommittedVersion): void {
  book.commits.push(commit);
  if (book.commits.length > REMEMBERED) book.commits.shift();
}

export const batchIdPattern = /^([a-z0-9][a-z0-9-]{0,62})\/step\/([0-9]{1,9})\.([0-9]{1,9})$/;

export const batchIdOf = (runId: string, step: number, tried: number): string => `${runId}/step/${step}.${tried}`;

/** Returns undefined if the string is not a batch id. */
export function parseBatchId(id: string): { readonly runId: string; readonly step: number; readonly tried: number } | undefined {
  const [, runId, step, tried] = batchIdPattern.exec(id) ?? [];
  return runId === undefined ? undefined : { runId, step: Number(step), tried: Number(tried) };
}
