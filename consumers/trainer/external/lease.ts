// Leases batches. A lease is recorded in the ledger before it is returned.
import type { BatchLeased } from '../../../schemas/generated/events.ts';
import { accountBatch } from '../../../streams/batch/batch.ts';
import type { Group } from '../../../streams/group/group.ts';
import { decideExtend, decideLease, decideRelease } from '../../../streams/leases/decide.ts';
import type { LeaseAnswer, LeaseRequest, ReleaseAnswer } from '../../../streams/leases/coordinator.ts';
import { batchIdOf } from '../../../streams/leases/lease-book.ts';
import type { Unchained } from '../../../streams/ledger/chain.ts';
import type { Loop, Job, CallOutcome, ExternalLife } from '../deps.ts';
import { nextBatch } from '../../../streams/trainer/plan.ts';
import { ended, refusedWith } from './claim.ts';
import { deadlineOf, outGroups, record, refusal, releaseEntries, timesOf } from './leases.ts';

interface BatchRequest {
  readonly batchId: string;
  readonly epoch: number;
}

export const leaseJob =
  (request: LeaseRequest): Job<LeaseAnswer | undefined> =>
  async (life, loop) => {
    if (life.state.finished !== undefined) return ended(life, loop, { doing: 'leasing a batch', lineage: request.lineage });
    const call = { epoch: request.epoch, lineage: request.lineage, held: request.held };
    const decision = decideLease(life.state.leases, call, life.external.prefetch);
    switch (decision.kind) {
      case 'refused':
        return decision.restore === true ? refusedWith(life, decision.message) : refusal(decision);
      case 'again':
        return { kind: 'answer', value: answerOf(life, loop, decision.lease) };
      case 'wait':
        return { kind: 'later' };
      case 'next':
        return leaseNext(life, loop, decision);
    }
  };

async function leaseNext(
  life: ExternalLife,
  loop: Loop,
  { step, tried }: { readonly step: number; readonly tried: number },
): Promise<CallOutcome<LeaseAnswer>> {
  const { state, used } = life;
  // accounted at the version that the step will train from
  const version = step - 1;
  const groups = nextBatch(state, { settings: used, training: outGroups(state), version });
  if (groups === undefined || (used.steps > 0 && step > used.steps)) return { kind: 'later' };
  const id = batchIdOf(state.runId, step, tried);
  const fields = await fieldsOf(life, groups, { batch_id: id, step, epoch: state.leases.epoch, version_before: version });
  const nowMs = life.clock.monotonic();
  const waitMs = Math.max(0, nowMs - loop.waitedSinceMs);
  loop.leaseTimes.set(id, { beganMs: nowMs, waitMs, deadlineMs: nowMs + life.external.leaseMs });
  await record(life, loop, { step: 'coordinator.lease', entries: [{ type: 'BatchLeased', fields }] });
  const lease = state.leases.out.find(({ batch_id: one }) => one === id);
  return lease === undefined ? { kind: 'later' } : { kind: 'answer', value: answerOf(life, loop, lease) };
}

type NamedBatch = Pick<BatchLeased, 'batch_id' | 'step' | 'epoch' | 'version_before'>;

async function fieldsOf(life: ExternalLife, groups: readonly Group[], named: NamedBatch): Promise<Unchained<'BatchLeased'>> {
  const { runId, rolloutPositions } = life.state;
  const trajectories = accountBatch(groups, named.version_before, new Map()).map((one) => ({
    group_id: one.groupId,
    trajectory_id: one.trajectoryId,
    attempt: one.attempt.number,
    reward: one.reward,
    advantage: one.advantage,
  }));
  const rollouts = [...firstOffsetsOf(groups)].map(([partition, offset]) => ({
    ...{ partition, offset },
    end: rolloutPositions.get(partition) ?? offset,
  }));
  const { rows, tokens, bytes, sha256 } = await life.external.rows.measure({ run_id: runId, trajectories, rollouts });
  const deadline = Math.round(life.clock.now() + life.external.leaseMs) * 1_000;
  const ids = groups.map(({ id }) => id);
  return { ...named, group_ids: ids, trajectories, rollouts, rows, tokens, bytes, batch_sha256: sha256, deadline };
}

function firstOffsetsOf(groups: readonly Group[]): ReadonlyMap<number, number> {
  const first = new Map<number, number>();
  for (const { firstOffsets } of groups) {
    for (const [partition, offset] of firstOffsets) first.set(partition, Math.min(offset, first.get(partition) ?? offset));
  }
  return first;
}

function answerOf(life: ExternalLife, loop: Loop, lease: BatchLeased): LeaseAnswer {
  const sizes = new Map(lease.group_ids.map((id) => [id, 0]));
  for (const { group_id: id } of lease.trajectories) sizes.set(id, (sizes.get(id) ?? 0) + 1);
  return {
    batch_id: lease.batch_id,
    step: lease.step,
    version_before: lease.version_before,
    batch_sha256: lease.batch_sha256,
    rows: lease.rows,
    tokens: lease.tokens,
    bytes: lease.bytes,
    deadline: deadlineOf(life, timesOf(life, loop, lease.batch_id)),
    groups: [...sizes].map(([id, trajectories]) => ({ group_id: id, trajectories })),
    data: { href: `/v1/batches/${encodeURIComponent(lease.batch_id)}/rows`, formats: ['ndjson'], shards: 1 },
  };
}

export const extendJob =
  (request: BatchRequest): Job<{ readonly deadline: string }> =>
  async (life, loop) => {
    const decision = decideExtend(life.state.leases, request);
    if (decision.kind === 'refused') return refusal(decision);
    const times = timesOf(life, loop, request.batchId);
    times.deadlineMs = life.clock.monotonic() + life.external.leaseMs;
    return { kind: 'answer', value: { deadline: deadlineOf(life, times) } };
  };

export const releaseJob =
  (request: BatchRequest): Job<ReleaseAnswer> =>
  async (life, loop) => {
    const decision = decideRelease(life.state.leases, request);
    if (decision.kind === 'refused') return refusal(decision);
    await record(life, loop, { step: 'coordinator.release', entries: releaseEntries(decision.releases) });
    return { kind: 'answer', value: { released: decision.releases.map(({ lease }) => lease.batch_id) } };
  };
