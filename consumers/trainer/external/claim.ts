// A trainer claims the run: from then on it is the only one whose calls are served.
import { decideClaim, headOf } from '../../../streams/leases/decide.ts';
import type { ClaimAnswer, ClaimRequest, NamedWeights } from '../../../streams/leases/coordinator.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { findPolicy } from '../checkpoints.ts';
import { runEnded } from '../../../streams/leases/ended-coordinator.ts';
import type { Job, ExternalLife, Loop } from '../deps.ts';
import { record, refusal, releaseEntries } from './leases.ts';

export const claimJob =
  (request: ClaimRequest): Job<ClaimAnswer> =>
  async (life, loop) => {
    const { leases: book } = life.state;
    if (life.state.finished !== undefined) return ended(life, loop, { doing: 'claiming the run', lineage: request.lineage });
    const { prepared } = request;
    const decision = decideClaim(book, {
      lineage: request.lineage,
      prepared: prepared === undefined ? undefined : { batchId: prepared.batch_id, weightsSha256: prepared.weights_sha256 },
    });
    if (decision.kind === 'refused') return decision.restore === true ? refusedWith(life, decision.message) : refusal(decision);
    const fields = {
      trainer_id: request.trainer_id,
      epoch: decision.epoch,
      framework: request.framework ?? '',
      lineage: request.lineage ?? '',
      prepared: decision.keeps,
    };
    await record(life, loop, [...releaseEntries(decision.releases), { type: 'TrainerClaimed', fields }]);
    const restore = decision.restore ? await newestWeights(life) : undefined;
    const { version, lineage } = headOf(book);
    life.logger.info({ trainer: request.trainer_id, epoch: decision.epoch, version }, 'an external trainer has claimed the run');
    const value = { epoch: decision.epoch, version, lineage, lease_ms: life.external.leaseMs };
    return { kind: 'answer', value: restore === undefined ? value : { ...value, restore } };
  };

/** The refusal of a call that comes after the end. One with the lineage of the end comes from a trainer that has heard all there is. */
export function ended(
  { state }: ExternalLife,
  loop: Loop,
  call: { readonly doing: string; readonly lineage: string | undefined },
): { kind: 'refused'; error: PlatformError } {
  if (call.lineage === headOf(state.leases).lineage) loop.heardEnd = true;
  return { kind: 'refused', error: runEnded(call.doing, state.leases) };
}

/** The refusal of a trainer that is behind, with what it is to restore. */
export async function refusedWith(life: ExternalLife, message: string): Promise<{ kind: 'refused'; error: PlatformError }> {
  const context = { restore: await newestWeights(life) };
  return { kind: 'refused', error: new PlatformError('LINEAGE_MISMATCH', message, { context }) };
}

/** Undefined when nothing was published of the newest committed version. */
async function newestWeights(life: ExternalLife): Promise<NamedWeights | undefined> {
  const { runId, version } = life.state;
  const found = await findPolicy(life, { runId, version }, life.policiesFrom);
  return found === undefined ? undefined : { version, uri: found.uri, sha256: found.sha256 };
}
