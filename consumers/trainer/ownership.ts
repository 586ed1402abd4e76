// The log decides who owns a run: the owner's claim is in the metadata of the offset of `policies` that the trainers of a run commit in
// their transactions. Kafka ensures that only one writer at a time can commit; the claim says which one it should be.
// - A trainer that starts opens the writer, which fences the previous one, and writes its claim before anything else.
// - A trainer that reopens the writer, after an outage or because it was frozen, checks the claim before, so that it does not disturb a
//   successor, and again once the writer is open, when no earlier claim can still be pending. Another trainer's claim ends it with
//   PRODUCER_FENCED.
// - A fence alone proves nothing. The broker also aborts transactions that time out, and a predecessor may have opened the writer before it
//   noticed its successor. The trainer that still has the claim opens the writer again.
// - A claim that the broker has expired, as it does after days, belongs to nobody.
import { isPlatformError, PlatformError } from '../../streams/core/errors.ts';
import type { GroupOffsets, Position, TransactionalWriter } from '../../streams/core/ports.ts';

/** A trainer process, across all its starts within the process. */
export interface TrainerOwner {
  /** Unique among all trainers, past and present. */
  readonly id: string;
  /** The claim that it takes over from: the one in the log at its first check. */
  replaces: string | undefined;
}

export const newOwner = (id: string): TrainerOwner => ({ id, replaces: undefined });

export interface OwnershipDeps {
  readonly runId: string;
  readonly owner: TrainerOwner;
  readonly openWriter: () => Promise<TransactionalWriter>;
  readonly offsets: GroupOffsets;
  readonly groups: { readonly trainer: string };
}

/** Maximum attempts of a start to open the writer and claim the run, while the trainer that it replaces interferes. */
const CLAIM_TRIES = 5;

const PARTITION = 0;

/** Where the policies of the run begin, with the claim as metadata. A claim commits no offset of `training`. */
export const claimAt = (offset: number, claim: string): Position & { readonly metadata: string } => ({
  ...{ topic: 'policies', partition: PARTITION, offset },
  metadata: claim,
});

/** Opens the writer of the run and takes ownership. Throws PRODUCER_FENCED if another trainer has claimed the run since the first check. */
export async function openOwned(deps: OwnershipDeps): Promise<TransactionalWriter> {
  if (deps.owner.replaces !== undefined) await askWhose(deps);
  for (let left = CLAIM_TRIES; ; left -= 1) {
    const writer = await deps.openWriter();
    try {
      const { isOwn, offset } = await askWhose(deps);
      if (!isOwn) await claim(deps, writer, offset);
      return writer;
    } catch (error) {
      await writer.close();
      if (left <= 1 || !isPlatformError(error, 'PRODUCER_FENCED') || !(await isStillOpen(deps))) throw error;
    }
  }
}

async function claim({ owner, groups }: OwnershipDeps, writer: TransactionalWriter, offset: number): Promise<void> {
  await writer.commit({ events: [], offsets: { group: groups.trainer, positions: [claimAt(Math.max(0, offset), owner.id)] } });
}

/** Interprets a fence: for the trainer that still has the claim it is an outage, for any other trainer it is final. */
export async function explainFence(deps: OwnershipDeps, error: unknown): Promise<unknown> {
  if (!isPlatformError(error, 'PRODUCER_FENCED') || !(await isStillOpen(deps))) return error;
  const doing = `writing the ledger of run ${deps.runId}`;
  return new PlatformError(
    'KAFKA_UNAVAILABLE',
    `${doing}: the transaction was ended from outside, and no other trainer has claimed the run`,
    {
      cause: error,
    },
  );
}

/** True unless another trainer has claimed the run since; also when Kafka is unavailable, because the check is then repeated. */
async function isStillOpen(deps: OwnershipDeps): Promise<boolean> {
  try {
    await askWhose(deps);
    return true;
  } catch (error) {
    return !isPlatformError(error, 'PRODUCER_FENCED');
  }
}

async function askWhose({ owner, offsets, groups, runId }: OwnershipDeps): Promise<{ readonly isOwn: boolean; readonly offset: number }> {
  const committed = await offsets.fetch(groups.trainer, 'policies');
  const { offset, metadata } = committed.find(({ partition }) => partition === PARTITION) ?? { offset: -1, metadata: '' };
  owner.replaces ??= metadata;
  if (metadata !== owner.id && metadata !== owner.replaces && metadata !== '') {
    throw new PlatformError('PRODUCER_FENCED', `training run ${runId}: another trainer, ${metadata}, took over`);
  }
  return { isOwn: metadata === owner.id, offset };
}
