// Claims the run for a trainer. From then on, calls of earlier trainers are refused.
import { decideClaim, headOf, type ClaimEvidence, type ClaimGranted, type RewindDecision } from '../../../streams/leases/decide.ts';
import type { ClaimAnswer, ClaimRequest, NamedWeights } from '../../../streams/leases/coordinator.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { findPolicy } from '../checkpoints.ts';
import { runEnded } from '../../../streams/leases/ended-coordinator.ts';
import type { PlainEntry, Publication } from '../committer.ts';
import type { Job, ExternalLife, Loop } from '../deps.ts';
import { record, refusal, releaseEntries, renewed, timesOf, type Recording } from './leases.ts';

export const claimJob =
  (request: ClaimRequest): Job<ClaimAnswer> =>
  async (life, loop) => {
    if (life.state.finished !== undefined) return ended(life, loop, { doing: 'claiming the run', lineage: request.lineage });
    const decision = decideClaim(life.state.leases, claimOf(request));
    if (decision.kind === 'refused') return decision.restore === true ? refusedWith(life, decision.message) : refusal(decision);
    await record(life, loop, await recordingOf(life, request, decision));
    if (decision.keeps !== '') loop.leaseTimes.set(decision.keeps, renewed(life, timesOf(life, loop, decision.keeps)));
    const { version, lineage } = headOf(life.state.leases);
    life.logger.info({ trainer: request.trainer_id, epoch: decision.epoch, version }, 'an external trainer has claimed the run');
    const restore = decision.restore ? await restoreOf(life) : {};
    return { kind: 'answer', value: { epoch: decision.epoch, version, lineage, lease_ms: life.external.leaseMs, ...restore } };
  };

const claimOf = ({ lineage, prepared, rewind }: ClaimRequest): ClaimEvidence => ({
  lineage,
  prepared: prepared === undefined ? undefined : { batchId: prepared.batch_id, weightsSha256: prepared.weights_sha256 },
  rewindTo: rewind?.to_version,
});

async function recordingOf(life: ExternalLife, request: ClaimRequest, decision: ClaimGranted): Promise<Recording> {
  const { trainer_id, framework = '', lineage = '' } = request;
  const fields = { trainer_id, epoch: decision.epoch, framework, lineage, prepared: decision.keeps };
  const entries: readonly PlainEntry[] = [...releaseEntries(decision.releases), { type: 'TrainerClaimed', fields }];
  if (decision.rewind === undefined) return { step: 'coordinator.claim', entries };
  const { entry, ...publication } = await rewindOf(life, {
    ...decision.rewind,
    epoch: decision.epoch,
    reason: request.rewind?.reason ?? '',
  });
  return { step: 'coordinator.rewind', entries: [...entries, entry], ...publication };
}

/** Nothing for an unpublished version 0: the trainer brings those weights itself. */
async function restoreOf(life: ExternalLife): Promise<Pick<ClaimAnswer, 'restore'>> {
  const restore = await newestWeights(life);
  return restore.version === 0 && restore.weights === 'unpublished' ? {} : { restore };
}

/** Refuses a call after the run has finished. A call with the final lineage shows that the trainer got the response to its last commit. */
export function ended(
  { state }: ExternalLife,
  loop: Loop,
  call: { readonly doing: string; readonly lineage: string | undefined },
): { kind: 'refused'; error: PlatformError } {
  if (call.lineage === headOf(state.leases).lineage) loop.heardEnd = true;
  return { kind: 'refused', error: runEnded(call.doing, state.leases) };
}

/** Refuses a trainer with an outdated checkpoint, and names the version to restore. */
export async function refusedWith(life: ExternalLife, message: string): Promise<{ kind: 'refused'; error: PlatformError }> {
  const context = { restore: await newestWeights(life) };
  return { kind: 'refused', error: new PlatformError('LINEAGE_MISMATCH', message, { context }) };
}

async function newestWeights(life: ExternalLife): Promise<NamedWeights> {
  const { runId, version } = life.state;
  const found = await findPolicy(life, { runId, version }, life.start.policies);
  if (found === undefined) return { version, uri: '', sha256: '', format: '', weights: 'unpublished' };
  const { uri, sha256, format } = found;
  return { version, uri, sha256, format, weights: uri === '' ? 'in_log' : 'elsewhere' };
}

/** Makes the newest version from the weights of an older one, and publishes it, so that workers continue from there. */
async function rewindOf(
  life: ExternalLife,
  { to, abandoned, epoch, reason }: RewindDecision & { readonly epoch: number; readonly reason: string },
): Promise<{ readonly entry: PlainEntry; readonly publication?: Publication }> {
  const { runId, leases } = life.state;
  const version = headOf(leases).version + 1;
  const fields = {
    ...{ version, to_version: to.version, abandoned: abandoned.map((commit) => commit.version) },
    trajectories: abandoned.reduce((sum, { trajectories }) => sum + trajectories, 0),
    ...{ weights_sha256: to.weightsSha256, epoch, reason },
  };
  life.logger.warn({ from: version - 1, to: to.version, reason }, 'the run goes back to an older version');
  const found = await findPolicy(life, { runId, version: to.version }, life.start.policies);
  const entry: PlainEntry = { type: 'RunRewound', fields };
  if (found === undefined) return { entry };
  const { event_id: _, run_id: __, occurred_at: ___, producer: ____, ...policy } = found;
  return { entry, publication: { policy: { ...policy, version, parent: to.version }, again: false } };
}
