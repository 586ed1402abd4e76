// What the calls of an external trainer have in common: the groups and deadlines of leased batches, and the entries that end leases.
import type { BatchLeased } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { accountBatch, type AccountedTrajectory } from '../../../streams/batch/batch.ts';
import type { Group } from '../../../streams/group/group.ts';
import type { LeasedTrajectory } from '../../../streams/leases/batch-rows.ts';
import { inStep, reachNothing, type CrashStep } from '../../../streams/core/crash-points.ts';
import { decideExpiry, type Refused, type Released } from '../../../streams/leases/decide.ts';
import type { RunState } from '../../../streams/run/run-state.ts';
import type { TokenAges } from '../../../streams/staleness/staleness.ts';
import { countedOf } from '../batches.ts';
import type { PreparedBatch } from '../commit-parts.ts';
import type { PlainEntry, Publication } from '../committer.ts';
import type { LeaseTimes, Loop, CallOutcome, ExternalLife } from '../deps.ts';

const groupsOf = (state: RunState, { group_ids: ids }: BatchLeased): readonly Group[] => ids.flatMap((id) => state.groups.get(id) ?? []);

/** The groups of every leased batch. */
export const outGroups = (state: RunState): readonly Group[] => state.leases.out.flatMap((lease) => groupsOf(state, lease));

/** The batch as it was leased, without attempts and rewards that arrived later. */
export function leasedBatch(state: RunState, lease: BatchLeased, times: LeaseTimes): PreparedBatch {
  const groups = groupsOf(state, lease);
  const judged = new Map(lease.trajectories.map(({ trajectory_id: id, reward, advantage }) => [id, { reward, advantage }]));
  const ages: TokenAges = new Map();
  const leased = groups.map((group) => ({ ...group, trajectories: new Map([...group.trajectories].filter(([id]) => judged.has(id))) }));
  const trajectories = accountBatch(leased, lease.version_before, ages).map((one) => ({ ...one, ...judged.get(one.trajectoryId) }));
  const counted = countedOf(groups, new Map(lease.rollouts.map(({ partition, end }) => [partition, end])));
  return { groups, trajectories, ages, counted, sha256: lease.batch_sha256, beganMs: times.beganMs, waitMs: times.waitMs };
}

/** A trajectory in the form that `BatchLeased` records. */
export const leasedTrajectory = ({ groupId, trajectoryId, attempt, reward, advantage }: AccountedTrajectory): LeasedTrajectory => ({
  ...{ group_id: groupId, trajectory_id: trajectoryId, attempt: attempt.number, reward, advantage },
});

/** The full duration from now on. */
export const renewed = (
  { listening, external }: ExternalLife,
  { beganMs, waitMs }: Pick<LeaseTimes, 'beganMs' | 'waitMs'>,
): LeaseTimes => ({ beganMs, waitMs, deadlineMs: listening.now() + external.leaseMs, gaps: listening.gaps });

export function timesOf(life: ExternalLife, { leaseTimes }: Loop, batchId: string): LeaseTimes {
  const known = leaseTimes.get(batchId);
  if (known?.gaps === life.listening.gaps) return known;
  const times = renewed(life, known ?? { beganMs: life.clock.monotonic(), waitMs: 0 });
  leaseTimes.set(batchId, times);
  return times;
}

/** ISO 8601. */
export const deadlineOf = ({ clock, listening }: ExternalLife, { deadlineMs }: LeaseTimes): string =>
  new Date(Math.round(clock.now() + deadlineMs - listening.now())).toISOString();

export const releaseEntries = (releases: Released): readonly PlainEntry[] =>
  releases.map(({ lease, reason }) => ({
    type: 'BatchReleased',
    fields: { batch_id: lease.batch_id, step: lease.step, epoch: lease.epoch, reason },
  }));

export interface Recording {
  readonly step: CrashStep;
  readonly entries: readonly PlainEntry[];
  readonly publication?: Publication;
}

/** Appends entries about leases to the ledger. The fold of rollouts waits meanwhile. */
export async function record(life: ExternalLife, loop: Loop, { step, entries, publication }: Recording): Promise<void> {
  if (entries.length === 0) return;
  await inStep(life.reach ?? reachNothing, step, () => life.feed.exclusively(() => life.committer.append(entries, publication)));
  const out = new Set(life.state.leases.out.map(({ batch_id: id }) => id));
  for (const id of loop.leaseTimes.keys()) if (!out.has(id)) loop.leaseTimes.delete(id);
}

/** Ends expired leases. They are judged at a time up to which Kafka has answered, so an outage or a frozen process expires none. */
export async function expireLeases(life: ExternalLife, loop: Loop): Promise<void> {
  const { heardUpTo } = life.listening;
  const releases = decideExpiry(life.state.leases, (id) => timesOf(life, loop, id).deadlineMs <= heardUpTo);
  for (const { lease } of releases) life.logger.warn({ batch: lease.batch_id, step: lease.step }, 'the lease of a batch has expired');
  await record(life, loop, { step: 'coordinator.release', entries: releaseEntries(releases) });
}

export const refusal = ({ code, message }: Refused): CallOutcome<never> => ({ kind: 'refused', error: new PlatformError(code, message) });
