// Decides what a call of an external trainer may do, from the folded state alone.
//
// Epochs are fencing tokens: every call but a claim carries its epoch, and only the newest is served. Leases are committed in the order of
// their steps, so when a lease ends, all later leases end too. A trainer that is not at the newest version is told which one to restore.
import type { BatchLeased } from '../../schemas/generated/events.ts';
import type { ErrorCode } from '../core/errors.ts';
import { commitsAfter, parseBatchId, type CommittedVersion, type LeaseBook } from './lease-book.ts';

export interface Refused {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  readonly message: string;
  /** The trainer must restore the newest committed version. */
  readonly restore?: true;
}

/** Leases to end, in order. */
export type Released = readonly { readonly lease: BatchLeased; readonly reason: ReleaseReason }[];
type ReleaseReason = 'expired' | 'returned' | 'fenced' | 'stale';

export interface ClaimEvidence {
  /** Undefined for a trainer without a checkpoint. */
  readonly lineage: string | undefined;
  /** The batch that it trained on without a confirmed commit. */
  readonly prepared: { readonly batchId: string; readonly weightsSha256: string } | undefined;
  /** The version to rewind to, because the trainer cannot restore the newest. */
  readonly rewindTo?: number | undefined;
}

/** The version that a run is rewound to, and the commits that this abandons. */
export interface RewindDecision {
  readonly to: CommittedVersion;
  readonly abandoned: readonly CommittedVersion[];
}

export interface ClaimGranted {
  readonly kind: 'claimed';
  readonly epoch: number;
  readonly releases: Released;
  /** Batch of the open lease that the trainer keeps; empty for none. */
  readonly keeps: string;
  /** The trainer has no checkpoint and must restore the newest committed version. */
  readonly restore: boolean;
  readonly rewind: RewindDecision | undefined;
}

const refused = (code: ErrorCode, message: string): Refused => ({ kind: 'refused', code, message });
const behind = (message: string): Refused => ({ kind: 'refused', code: 'LINEAGE_MISMATCH', message, restore: true });

/** The newest commit. */
export function headOf({ commits }: LeaseBook): CommittedVersion {
  const head = commits.at(-1);
  if (head === undefined) throw new RangeError('the ledger of the run has no first entry');
  return head;
}

export function decideClaim(book: LeaseBook, claim: ClaimEvidence): ClaimGranted | Refused {
  const { lineage, prepared, rewindTo } = claim;
  if (rewindTo !== undefined) return decideRewind(book, { ...claim, rewindTo });
  const doing = 'claiming the run';
  const kept = preparedOf(book, prepared, doing);
  if ('kind' in kept) return kept;
  const { isCommitted, keeps } = kept;
  const wrong = lineage === undefined || isCommitted ? undefined : offHead(book, lineage, doing);
  if (wrong !== undefined) return wrong;
  return {
    kind: 'claimed',
    epoch: book.epoch + 1,
    releases: book.out.filter(({ batch_id: id }) => id !== keeps).map((lease) => ({ lease, reason: 'fenced' })),
    keeps,
    restore: lineage === undefined && prepared === undefined,
    rewind: undefined,
  };
}

/** Idempotent, because a claim is repeated if its response was lost: a run that is already rewound to the version is not rewound again. */
function decideRewind(
  book: LeaseBook,
  { lineage, prepared, rewindTo }: ClaimEvidence & { readonly rewindTo: number },
): ClaimGranted | Refused {
  const doing = `rewinding to version ${rewindTo}`;
  const head = headOf(book);
  const to = book.commits.find(({ version, isAbandoned }) => version === rewindTo && !isAbandoned);
  if (to === undefined) {
    return refused('REWIND_REFUSED', `${doing}: version ${head.version} is not based on it, or it is too old`);
  }
  const isThere = to === head || head.rewoundTo === rewindTo;
  const isOfIt = lineage === undefined || lineage === to.lineage || (isThere && lineage === head.lineage);
  if (!isOfIt || prepared !== undefined) {
    const what = prepared === undefined ? 'the checkpoint is of another version' : 'a claim with a prepared step cannot rewind';
    return refused('REWIND_REFUSED', `${doing}: ${what}`);
  }
  return {
    ...{ kind: 'claimed', epoch: book.epoch + 1, keeps: '', restore: lineage === undefined },
    releases: releasesFrom(book, 0, 'fenced'),
    rewind: isThere ? undefined : { to, abandoned: commitsAfter(book, rewindTo) },
  };
}

export type PublishDecision = { readonly kind: 'named'; readonly commit: CommittedVersion } | Refused;

/** `epoch` is optional, because programs other than the trainer may publish weights; it is checked if given. */
export function decidePublish(
  book: LeaseBook,
  call: { readonly epoch: number | undefined; readonly version: number; readonly sha256: string },
): PublishDecision {
  const doing = `publishing the weights of version ${call.version}`;
  const wrong = call.epoch === undefined ? undefined : fenced(book, call.epoch, doing);
  if (wrong !== undefined) return wrong;
  const commit = book.commits.find(({ version }) => version === call.version);
  if (commit === undefined) return refused('NOT_FOUND', `${doing}: there is no such version; the newest is ${headOf(book).version}`);
  const { weightsSha256: named } = commit;
  return named === '' || named === call.sha256
    ? { kind: 'named', commit }
    : refused('WEIGHTS_CONFLICT', `${doing}: it was committed with ${named.slice(0, 12)}…, these are ${call.sha256.slice(0, 12)}…`);
}

interface PreparedStatus {
  /** The prepared step is the newest commit: only the response was lost. */
  readonly isCommitted: boolean;
  /** The batch, if it is still the first leased one. */
  readonly keeps: string;
}

function preparedOf(book: LeaseBook, prepared: ClaimEvidence['prepared'], doing: string): PreparedStatus | Refused {
  if (prepared === undefined) return { isCommitted: false, keeps: '' };
  const { batchId, weightsSha256 } = prepared;
  const head = headOf(book);
  // weights may be published later than their commit, so either side may not have the hash
  const isSame = head.weightsSha256 === '' || weightsSha256 === '' || weightsSha256 === head.weightsSha256;
  if (batchId === head.batchId && isSame) return { isCommitted: true, keeps: '' };
  if (book.out[0]?.batch_id === batchId) return { isCommitted: false, keeps: batchId };
  const why = `batch ${batchId} is no longer leased, so the step that was trained on it cannot be committed`;
  return behind(`${doing}: ${why}; restore version ${head.version}`);
}

/** Undefined if the lineage token is that of the newest commit. */
function offHead(book: LeaseBook, lineage: string, doing: string): Refused | undefined {
  const head = headOf(book);
  if (lineage === head.lineage) return undefined;
  const older = book.commits.find((commit) => commit.lineage === lineage);
  if (older === undefined) return refused('LINEAGE_UNKNOWN', `${doing}: no commit of this run has the lineage ${lineage.slice(0, 12)}…`);
  if (older.isAbandoned) return behind(`${doing}: the run was rewound past version ${older.version}; restore version ${head.version}`);
  return behind(`${doing}: the trainer is at version ${older.version}, the run at version ${head.version}; restore that`);
}

const fenced = ({ epoch: newest, trainerId }: LeaseBook, epoch: number, doing: string): Refused | undefined =>
  epoch === newest && newest > 0
    ? undefined
    : refused(
        'FENCED',
        `${doing}: epoch ${epoch} is not the newest, which is ${newest}${trainerId === '' ? '' : ` of ${trainerId}`}; claim the run`,
      );

export type LeaseDecision =
  | { readonly kind: 'again'; readonly lease: BatchLeased }
  /** The maximum number of batches is leased. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'next'; readonly step: number; readonly tried: number }
  | Refused;

/**
 * `held` lists the batches that the trainer knows about; a leased batch that is not in it is returned again. If omitted, this check is
 * skipped.
 */
export function decideLease(
  book: LeaseBook,
  call: { readonly epoch: number; readonly lineage: string; readonly held: readonly string[] | undefined },
  prefetch: number,
): LeaseDecision {
  const doing = 'leasing a batch';
  const wrong = fenced(book, call.epoch, doing) ?? offHead(book, call.lineage, doing);
  if (wrong !== undefined) return wrong;
  const lost = call.held === undefined ? undefined : book.out.find(({ batch_id: id }) => call.held?.includes(id) === false);
  if (lost !== undefined) return { kind: 'again', lease: lost };
  if (book.out.length > prefetch) return { kind: 'wait' };
  const step = headOf(book).version + book.out.length + 1;
  return { kind: 'next', step, tried: book.tries.get(step) ?? 0 };
}

interface BatchCall {
  readonly epoch: number;
  readonly batchId: string;
}

/** The lease that a call is about, with its index among the open leases. */
function outOf(
  book: LeaseBook,
  { epoch, batchId }: BatchCall,
  doing: string,
): { readonly lease: BatchLeased; readonly at: number } | Refused {
  const wrong = fenced(book, epoch, doing);
  if (wrong !== undefined) return wrong;
  const at = book.out.findIndex(({ batch_id: id }) => id === batchId);
  const lease = book.out[at];
  return lease === undefined ? notOut(book, batchId, doing) : { lease, at };
}

function notOut(book: LeaseBook, batchId: string, doing: string): Refused {
  const head = headOf(book);
  if (book.commits.some((commit) => commit.batchId === batchId)) return refused('BATCH_COMMITTED', `${doing}: ${batchId} was committed`);
  const parsed = parseBatchId(batchId);
  const wasOut = parsed !== undefined && (parsed.step <= head.version || parsed.tried < (book.tries.get(parsed.step) ?? 0));
  return wasOut
    ? refused('BATCH_RELEASED', `${doing}: the lease of ${batchId} has ended, and its groups are no longer this trainer's; lease again`)
    : refused('NOT_FOUND', `${doing}: there is no batch ${batchId}`);
}

export function decideExtend(book: LeaseBook, call: BatchCall): { readonly kind: 'extended'; readonly lease: BatchLeased } | Refused {
  const found = outOf(book, call, 'extending a lease');
  return 'kind' in found ? found : { kind: 'extended', lease: found.lease };
}

export function decideRelease(book: LeaseBook, call: BatchCall): { readonly kind: 'released'; readonly releases: Released } | Refused {
  const found = outOf(book, call, 'releasing a batch');
  return 'kind' in found ? found : { kind: 'released', releases: releasesFrom(book, found.at, 'returned') };
}

/** The lease at an index, and all later ones. */
const releasesFrom = ({ out }: LeaseBook, at: number, reason: ReleaseReason): Released => out.slice(at).map((lease) => ({ lease, reason }));

/** The first lease whose batch is over, and all later ones. */
export function decideExpiry(book: LeaseBook, isOver: (batchId: string) => boolean): Released {
  const at = book.out.findIndex(({ batch_id: id }) => isOver(id));
  return at < 0 ? [] : releasesFrom(book, at, 'expired');
}

export type CommitDecision =
  | { readonly kind: 'first'; readonly lease: BatchLeased }
  /** It was committed before, with equal contents (reportHash). */
  | { readonly kind: 'repeat'; readonly commit: CommittedVersion }
  | Refused;

export function decideCommit(
  book: LeaseBook,
  call: BatchCall & { readonly batchSha256: string; readonly reportSha256: string },
): CommitDecision {
  const doing = 'committing a batch';
  const commit = book.commits.find(({ batchId }) => batchId === call.batchId);
  const wrong = fenced(book, call.epoch, doing);
  if (wrong !== undefined) return wrong;
  if (commit !== undefined) {
    return commit.reportSha256 === call.reportSha256
      ? { kind: 'repeat', commit }
      : refused('BATCH_COMMITTED', `${doing}: ${call.batchId} was committed with other contents, as version ${commit.version}`);
  }
  const found = outOf(book, call, doing);
  if ('kind' in found) return found;
  const { lease, at } = found;
  const [before] = book.out;
  if (at > 0) return refused('BATCH_OUT_OF_ORDER', `${doing}: ${before?.batch_id ?? ''} comes before ${call.batchId}`);
  if (lease.batch_sha256 !== call.batchSha256) {
    return refused(
      'BATCH_MISMATCH',
      `${doing}: the rows of ${call.batchId} have the hash ${lease.batch_sha256}, the commit names ${call.batchSha256}`,
    );
  }
  return { kind: 'first', lease };
}
