import type { TrainingBatch } from '../../streams/core/learning.ts';
import { accountBatch, batchHash } from '../../streams/batch/batch.ts';
import type { Group } from '../../streams/group/group.ts';
import type { TokenAges } from '../../streams/staleness/staleness.ts';
import { decisionsOf } from '../../streams/trajectory/attempt.ts';
import type { PreparedBatch } from './commit-parts.ts';

/** Computes the accounts of a batch's groups at version t-1 = `version`. */
export function prepareBatch(
  groups: readonly Group[],
  version: number,
  times: { readonly nowMs: number; readonly waitedSinceMs: number },
): PreparedBatch {
  const ages: TokenAges = new Map();
  const trajectories = accountBatch(groups, version, ages);
  return {
    groups,
    trajectories,
    ages,
    sha256: batchHash(trajectories),
    beganMs: times.nowMs,
    waitMs: Math.max(0, times.nowMs - times.waitedSinceMs),
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
