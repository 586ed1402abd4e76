// A trainer claims the run: from then on it is the only one whose calls are served.
import { decideClaim, headOf, type ClaimGranted } from '../../../streams/leases/decide.ts';
import type { ClaimAnswer, ClaimRequest, NamedWeights } from '../../../streams/leases/coordinator.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { findPolicy } from '../checkpoints.ts';
import { runEnded } from '../../../streams/leases/ended-coordinator.ts';
import type { PlainEntry, Publication } from '../committer.ts';
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
      rewindTo: request.rewind?.to_version,
    });
    if (decision.kind === 'refused') return decision.restore === true ? refusedWith(life, decision.message) : refusal(decision);
    const fields = {
      trainer_id: request.trainer_id,
      epoch: decision.epoch,
      framework: request.framework ?? '',
      lineage: request.lineage ?? '',
      prepared: decision.keeps,
    };
    const rewind = decision.rewind && (await rewindOf(life, decision, request.rewind?.reason ?? ''));
    const entries: readonly PlainEntry[] = [
      ...releaseEntries(decision.releases),
      { type: 'TrainerClaimed', fields },
      ...(rewind === undefined ? [] : [rewind.entry]),
    ];
    const step = rewind === undefined ? 'coordinator.claim' : 'coordinator.rewind';
    await record(life, loop, { step, entries, ...(rewind?.publication === undefined ? {} : { publication: rewind.publication }) });
    const { version, lineage } = headOf(book);
    const newest = decision.restore ? await newestWeights(life) : undefined;
    // version 0 is the trainer's own unless somebody has published it
    const restore = version === 0 && newest?.weights === 'unpublished' ? undefined : newest;
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

async function newestWeights(life: ExternalLife): Promise<NamedWeights> {
  const { runId, version } = life.state;
  const found = await findPolicy(life, { runId, version }, life.policiesFrom);
  if (found === undefined) return { version, uri: '', sha256: '', format: '', weights: 'unpublished' };
  const { uri, sha256, format } = found;
  return { version, uri, sha256, format, weights: uri === '' ? 'in_log' : 'elsewhere' };
}

/** The older version once more, as the newest, so that workers go on from it. */
async function rewindOf(
  life: ExternalLife,
  { epoch, rewind }: ClaimGranted,
  reason: string,
): Promise<{ readonly entry: PlainEntry; readonly publication?: Publication } | undefined> {
  if (rewind === undefined) return undefined;
  const { to, abandoned } = rewind;
  const { runId, leases } = life.state;
  const version = headOf(leases).version + 1;
  const fields = {
    ...{ version, to_version: to.version, abandoned: abandoned.map((commit) => commit.version) },
    trajectories: abandoned.reduce((sum, { trajectories }) => sum + trajectories, 0),
    ...{ weights_sha256: to.weightsSha256, epoch, reason },
  };
  life.logger.warn({ from: version - 1, to: to.version, reason }, 'the run goes back to an older version');
  const found = await findPolicy(life, { runId, version: to.version }, life.policiesFrom);
  const entry: PlainEntry = { type: 'RunRewound', fields };
  if (found === undefined) return { entry };
  const { event_id: _, run_id: __, occurred_at: ___, producer: ____, ...policy } = found;
  return { entry, publication: { policy: { ...policy, version, parent: to.version }, again: false } };
}
