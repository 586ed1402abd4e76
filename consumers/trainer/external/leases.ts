// Batches that are out at an external trainer: their groups, their times, and the entries that end their leases.
import type { BatchLeased } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { accountBatch } from '../../../streams/batch/batch.ts';
import type { Group } from '../../../streams/group/group.ts';
import { decideExpiry, type Refused, type Released } from '../../../streams/leases/decide.ts';
import type { RunState } from '../../../streams/run/run-state.ts';
import type { TokenAges } from '../../../streams/staleness/staleness.ts';
import { countedOf } from '../batches.ts';
import type { PreparedBatch } from '../commit-parts.ts';
import type { PlainEntry } from '../committer.ts';
import type { LeaseTimes, Loop, Outcome, ExternalLife } from '../deps.ts';

const groupsOf = (state: RunState, { group_ids: ids }: BatchLeased): readonly Group[] => ids.flatMap((id) => state.groups.get(id) ?? []);

/** The groups of every batch that is out. */
export const outGroups = (state: RunState): readonly Group[] => state.leases.out.flatMap((lease) => groupsOf(state, lease));

/** The batch of a lease as it was leased: an attempt that has finished since is not of it, and a reward that came since changes nothing. */
export function leasedBatch(state: RunState, lease: BatchLeased, times: LeaseTimes): PreparedBatch {
  const groups = groupsOf(state, lease);
  const judged = new Map(lease.trajectories.map(({ trajectory_id: id, reward, advantage }) => [id, { reward, advantage }]));
  const ages: TokenAges = new Map();
  const leased = groups.map((group) => ({ ...group, trajectories: new Map([...group.trajectories].filter(([id]) => judged.has(id))) }));
  const trajectories = accountBatch(leased, lease.version_before, ages).map((one) => ({ ...one, ...judged.get(one.trajectoryId) }));
  const counted = countedOf(groups, new Map(lease.rollouts.map(({ partition, end }) => [partition, end])));
  return { groups, trajectories, ages, counted, sha256: lease.batch_sha256, beganMs: times.beganMs, waitMs: times.waitMs };
}

/** A lease of an earlier process begins anew: its trainer could not reach anybody meanwhile. */
export function timesOf(life: ExternalLife, { leaseTimes }: Loop, batchId: string): LeaseTimes {
  const nowMs = life.clock.monotonic();
  const times = leaseTimes.get(batchId) ?? { beganMs: nowMs, waitMs: 0, deadlineMs: nowMs + life.external.leaseMs };
  leaseTimes.set(batchId, times);
  return times;
}

/** ISO 8601. */
export const deadlineOf = ({ clock }: ExternalLife, { deadlineMs }: LeaseTimes): string =>
  new Date(Math.round(clock.now() + deadlineMs - clock.monotonic())).toISOString();

export const releaseEntries = (releases: Released): readonly PlainEntry[] =>
  releases.map(({ lease, reason }) => ({
    type: 'BatchReleased',
    fields: { batch_id: lease.batch_id, step: lease.step, epoch: lease.epoch, reason },
  }));

/** Writes entries about leases. Nothing is folded meanwhile. */
export async function record(life: ExternalLife, loop: Loop, entries: readonly PlainEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await life.feed.exclusively(() => life.committer.append(entries));
  const out = new Set(life.state.leases.out.map(({ batch_id: id }) => id));
  for (const id of loop.leaseTimes.keys()) if (!out.has(id)) loop.leaseTimes.delete(id);
}

/** Ends the leases whose time is over. */
export async function expireLeases(life: ExternalLife, loop: Loop): Promise<void> {
  const nowMs = life.clock.monotonic();
  const releases = decideExpiry(life.state.leases, (id) => timesOf(life, loop, id).deadlineMs <= nowMs);
  for (const { lease } of releases) life.logger.warn({ batch: lease.batch_id, step: lease.step }, 'the lease of a batch has expired');
  await record(life, loop, releaseEntries(releases));
}

export const refusal = ({ code, message }: Refused): Outcome<never> => ({ kind: 'refused', error: new PlatformError(code, message) });
