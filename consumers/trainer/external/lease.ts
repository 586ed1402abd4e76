// Leases batches. A lease is in the ledger before the trainer receives it.
import type { BatchLeased } from '../../../schemas/generated/events.ts';
import { accountBatch } from '../../../streams/batch/batch.ts';
import type { Group } from '../../../streams/group/group.ts';
import { decideExtend, decideLease, decideRelease, headOf } from '../../../streams/leases/decide.ts';
import type { LeaseAnswer, LeaseRequest, ReleaseAnswer } from '../../../streams/leases/coordinator.ts';
import type { RowsMeasure, RowsSource } from '../../../streams/leases/batch-rows.ts';
import { batchIdOf } from '../../../streams/leases/lease-book.ts';
import type { RunState } from '../../../streams/run/run-state.ts';
import { rowFormats } from '../../common/rows/encode.ts';
import type { Unchained } from '../../../streams/ledger/chain.ts';
import type { Loop, Job, CallOutcome, ExternalLife } from '../deps.ts';
import { nextBatch } from '../../../streams/trainer/plan.ts';
import { planFor } from '../plan-for.ts';
import { ended, refusedWith } from './claim.ts';
import { deadlineOf, leasedTrajectory, outGroups, record, refusal, releaseEntries, renewed, timesOf } from './leases.ts';

const SHARD_TOKENS = 2_000_000;
const MOST_SHARDS = 64;

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
  const { state } = life;
  // nothing can be leased while the rows of a batch are measured, and this call is repeated many times in the meantime
  if (loop.measuring?.isBusy === true) return { kind: 'later' };
  const groups = groupsFor(life, step);
  if (groups === undefined) return { kind: 'later' };
  const id = batchIdOf(state.runId, step, tried);
  const source = sourceOf(state, groups, step);
  // retried once the batch is measured; by then the selection may be different
  const measure = loop.measuring?.of(source);
  if (measure === undefined) return { kind: 'later' };
  if (measure.gone.length > 0) return discardGone(life, loop, { groups, gone: new Set(measure.gone) });
  const named = { batch_id: id, step, epoch: state.leases.epoch, version_before: step - 1 };
  const fields = fieldsOf(life, groups, { ...named, ...source, measure });
  const nowMs = life.clock.monotonic();
  const waitMs = Math.max(0, nowMs - loop.waitedSinceMs);
  loop.leaseTimes.set(id, renewed(life, { beganMs: nowMs, waitMs }));
  await record(life, loop, { step: 'coordinator.lease', entries: [{ type: 'BatchLeased', fields }] });
  const lease = state.leases.out.find(({ batch_id: one }) => one === id);
  return lease === undefined ? { kind: 'later' } : { kind: 'answer', value: answerOf(life, loop, lease) };
}

/** Groups whose rows cannot be made any more are discarded; the next call selects others. */
async function discardGone(
  life: ExternalLife,
  loop: Loop,
  { groups, gone }: { readonly groups: readonly Group[]; readonly gone: ReadonlySet<string> },
): Promise<CallOutcome<never>> {
  const lost = groups.filter(({ trajectories }) => [...trajectories.keys()].some((id) => gone.has(id)));
  const what = 'the log no longer has all records of some groups, which are discarded: TURNSTREAM_RETENTION_HOURS is too short';
  life.logger.warn({ groups: lost.map(({ id }) => id) }, what);
  await life.feed.exclusively(async () => {
    const { selection, ...plan } = planFor(life, loop, life.state.version);
    const known = new Set(selection.discards.map(({ group }) => group.id));
    const more = lost.filter(({ id }) => !known.has(id)).map((group) => ({ group, reason: 'lost' as const }));
    await life.committer.carryOut({ ...plan, selection: { ...selection, discards: [...selection.discards, ...more] } });
  });
  return { kind: 'later' };
}

/** The batch that a step would train on, with staleness relative to the version it starts from; undefined if there are too few groups. */
function groupsFor({ state, used }: ExternalLife, step: number): readonly Group[] | undefined {
  if (used.steps > 0 && step > used.steps) return undefined;
  return nextBatch(state, { settings: used, training: outGroups(state), version: step - 1 });
}

/** Measures the next batch before a trainer requests it. */
export function measureAhead(life: ExternalLife, loop: Loop): void {
  const { state } = life;
  const { leases: book } = state;
  if (book.epoch === 0 || loop.measuring?.isBusy !== false) return;
  const step = headOf(book).version + book.out.length + 1;
  const groups = groupsFor(life, step);
  const ids = groups?.map(({ id }) => id).join(' ');
  if (groups === undefined || ids === loop.aheadOf) return;
  loop.aheadOf = ids;
  loop.measuring.of(sourceOf(state, groups, step));
}

function sourceOf({ runId, rolloutPositions }: RunState, groups: readonly Group[], step: number): RowsSource {
  const trajectories = accountBatch(groups, step - 1, new Map()).map(leasedTrajectory);
  const rollouts = [...firstOffsetsOf(groups)].map(([partition, offset]) => ({
    ...{ partition, offset },
    end: rolloutPositions.get(partition) ?? offset,
  }));
  return { run_id: runId, trajectories, rollouts };
}

type LeasedFields = Pick<BatchLeased, 'batch_id' | 'step' | 'epoch' | 'version_before'> & RowsSource & { readonly measure: RowsMeasure };

function fieldsOf(life: ExternalLife, groups: readonly Group[], { measure, run_id: _, ...named }: LeasedFields): Unchained<'BatchLeased'> {
  const { rows, tokens, bytes, sha256, untrainable } = measure;
  const deadline = Math.round(life.clock.now() + life.external.leaseMs) * 1_000;
  const ids = groups.map(({ id }) => id);
  return { ...named, group_ids: ids, rows, tokens, bytes, untrainable, batch_sha256: sha256, deadline };
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
    trainable_rows: lease.rows - lease.untrainable.length,
    tokens: lease.tokens,
    bytes: lease.bytes,
    deadline: deadlineOf(life, timesOf(life, loop, lease.batch_id)),
    groups: [...sizes].map(([id, trajectories]) => ({ group_id: id, trajectories })),
    data: { href: `/v1/batches/${encodeURIComponent(lease.batch_id)}/rows`, formats: rowFormats, shards: shardsOf(lease) },
  };
}

/** The number of shards that is worth reading in parallel. */
const shardsOf = ({ rows, tokens }: BatchLeased): number => Math.max(1, Math.min(rows, MOST_SHARDS, Math.ceil(tokens / SHARD_TOKENS)));

export const extendJob =
  (request: BatchRequest): Job<{ readonly deadline: string }> =>
  async (life, loop) => {
    const decision = decideExtend(life.state.leases, request);
    if (decision.kind === 'refused') return refusal(decision);
    const times = renewed(life, timesOf(life, loop, request.batchId));
    loop.leaseTimes.set(request.batchId, times);
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
