import type { TrainingBatch } from '../../streams/core/learning.ts';
import type { RewardsCounted } from '../../schemas/generated/events.ts';
import { accountBatch, batchHash } from '../../streams/batch/batch.ts';
import type { Group } from '../../streams/group/group.ts';
import type { TokenAges } from '../../streams/staleness/staleness.ts';
import { decisionsOf } from '../../streams/trajectory/attempt.ts';
import type { PreparedBatch } from './commit-parts.ts';

/** The offsets before which attached rewards of these groups came in time; `positions` says up to where `rollouts` has been folded. */
export const countedOf = (groups: readonly Group[], positions: ReadonlyMap<number, number>): RewardsCounted['groups'] =>
  groups
    .filter(({ hasAttached }) => hasAttached)
    .flatMap(({ id, firstOffsets }) =>
      [...firstOffsets.keys()].map((partition) => ({ group_id: id, partition, end: positions.get(partition) ?? 0 })),
    );

/** Computes staleness, advantages, and hash of a batch; `version` is the one that the step starts from. */
export function prepareBatch(
  groups: readonly Group[],
  version: number,
  at: { readonly nowMs: number; readonly waitedSinceMs: number; readonly positions?: ReadonlyMap<number, number> },
): PreparedBatch {
  const ages: TokenAges = new Map();
  const trajectories = accountBatch(groups, version, ages);
  return {
    groups,
    trajectories,
    ages,
    sha256: batchHash(trajectories),
    counted: countedOf(groups, at.positions ?? new Map()),
    beganMs: at.nowMs,
    waitMs: Math.max(0, at.nowMs - at.waitedSinceMs),
  };
}

/** The batch in the form that the learner takes. */
export function trainingBatch(batch: PreparedBatch, step: number): TrainingBatch {
  return {
    step,
    trajectories: batch.trajectories.map(({ trajectoryId, reward, advantage, attempt }) => ({
      trajectoryId,
      reward,
      advantage,
      turns: decisionsOf(attempt).map(({ decision, version, reward: turnReward }) => ({ ...decision, version, reward: turnReward })),
    })),
  };
}
