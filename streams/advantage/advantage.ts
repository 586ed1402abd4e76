const EPSILON = 1e-6;

/** True when all rewards are equal: the group carries no learning signal. */
export const isUniform = (rewards: readonly number[]): boolean => rewards.every((reward) => reward === rewards[0]);

/** If no reward is larger than this in magnitude, the sum of squares of any group that fits in memory is finite. */
const LARGE = 1e140;

/**
 * GRPO's group advantages: (r - mean) / (std + 1e-6), with the population standard deviation of the group (Shao et al. 2024, section
 * 4.1.2). Zeros for a uniform group. Finite for any finite rewards.
 */
export function groupAdvantages(rewards: readonly number[]): readonly number[] {
  if (rewards.length === 0 || isUniform(rewards)) return rewards.map(() => 0);
  const largest = rewards.reduce((most, reward) => Math.max(most, Math.abs(reward)), 0);
  // Scaling does not change the advantages, except through EPSILON, which is negligible for rewards this large.
  return largest > LARGE
    ? advantagesOf(
        rewards.map((reward) => reward / largest),
        0,
      )
    : advantagesOf(rewards, EPSILON);
}

function advantagesOf(rewards: readonly number[], epsilon: number): readonly number[] {
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const variance = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards.length;
  const scale = Math.sqrt(variance) + epsilon;
  return rewards.map((reward) => (scale === 0 ? 0 : (reward - mean) / scale));
}
