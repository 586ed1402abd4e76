// Who owns a run is what the log says: the claim in the metadata of the offset of `policies` that the trainers of a run
// commit, in their transactions. Kafka makes sure that one writer at a time can commit; the claim says which it should be.
//
// - A trainer that starts opens the writer, which fences whoever had it, and writes its claim before anything else.
// - One that opens the writer again, after an outage or because it was frozen, looks at the claim before, so that it does
//   not disturb a successor, and again once it is open, when no claim from before can still be under way. The claim of
//   another one ends it with PRODUCER_FENCED.
// - A fence alone proves nothing. The broker also ends a transaction for its age, and a predecessor may have opened the
//   writer before it noticed that it has a successor. Whoever still has the claim opens the writer again.
// - A claim that the broker has forgotten, as it does after days, is nobody's.
import { isPlatformError, PlatformError } from '../../streams/core/errors.ts';
import type { GroupOffsets, Position, TransactionalWriter } from '../../streams/core/ports.ts';

/** A trainer process, over all its starts within the process. */
export interface Owner {
  /** Unique among the trainers of all times. */
  readonly id: string;
  /** The claim that it takes over from: what the log said when it looked for the first time. */
  replaces: string | undefined;
}

export const newOwner = (id: string): Owner => ({ id, replaces: undefined });

export interface OwnershipDeps {
  readonly runId: string;
  readonly owner: Owner;
  readonly openWriter: () => Promise<TransactionalWriter>;
  readonly offsets: GroupOffsets;
  readonly groups: { readonly trainer: string };
}

/** How often a start opens the writer again because one that it replaces got in between. */
const CLAIM_TRIES = 5;

const PARTITION = 0;

/** Where the policies of the run begin, with the claim beside it. A claim alone says nothing of where the ledger begins. */
export const claimAt = (offset: number, claim: string): Position & { readonly metadata: string } => ({
  ...{ topic: 'policies', partition: PARTITION, offset },
  metadata: claim,
});

/** The writer of the run, which is this trainer's from now on. Throws PRODUCER_FENCED when another one claimed the run since. */
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

/** What a fence means: an outage to whoever still has the claim, which begins anew; the end to everybody else. */
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

/** True unless another trainer has claimed the run since; also when Kafka cannot be asked, for then it is asked again. */
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
