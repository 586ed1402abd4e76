// How the advantages of a group follow from its rewards, without the DOM. Every run records GRPO's advantages, whatever it learns from.
import type { ApiTrajectory } from '../data/shapes.ts';
import { count, figure } from '../kit/format.ts';

type DecidedAttempt = Pick<ApiTrajectory, 'fate' | 'fate_reason' | 'fate_reward'>;

/** Reasons why a whole group is discarded. Other discards are of attempts whose rewards did not count. */
const reasonsOfGroups: readonly string[] = ['uniform_group', 'stale', 'unknown_version', 'rewound'];

const EPSILON = 1e-6;

/** The reward of an attempt that was part of the decision about its group; undefined for any other attempt. */
export function countedReward({ fate, fate_reason: reason = '', fate_reward: reward }: DecidedAttempt): number | undefined {
  const isCounted = fate === 'trained' || fate === 'collected' || (fate === 'discarded' && reasonsOfGroups.includes(reason));
  return isCounted ? (reward ?? undefined) : undefined;
}

interface GroupRewards {
  readonly rewards: readonly number[];
  readonly mean: number;
  /** Population standard deviation. */
  readonly deviation: number;
}

export function rewardsOf(attempts: readonly DecidedAttempt[]): GroupRewards {
  const rewards = attempts.flatMap((one) => countedReward(one) ?? []);
  const [first = NaN] = rewards;
  // a mean of equal numbers can differ from them in its last digit
  if (rewards.every((reward) => reward === first)) return { rewards, mean: first, deviation: 0 };
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const deviation = Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards.length);
  return { rewards, mean, deviation };
}

/** The advantage of a reward, written out: `(0.8 − 0.5) / 0.3 = 1`. */
export const formulaOf = (reward: number, { mean, deviation }: GroupRewards): string =>
  `(${figure(reward)} − ${figure(mean)}) / ${figure(deviation)} = ${figure((reward - mean) / (deviation + EPSILON))}`;

/** Explains the advantages of the group. */
export function arithmeticOf({ rewards, mean, deviation }: GroupRewards, algorithm: string | undefined): string {
  if (rewards.length === 0) return 'No advantage: the trainer has not decided about this group as a whole.';
  const listed = rewards.map((reward) => figure(reward)).join(', ');
  const parts = [
    `The advantage is (reward − mean) / (standard deviation + 0.000001), over the ${count(rewards.length, 'attempt')} that counted:`,
    `rewards ${listed}, mean ${figure(mean)}, standard deviation ${figure(deviation)}.`,
    ...(deviation === 0 ? ['All rewards are equal: there is nothing to learn from a difference.'] : []),
    ...(algorithm === 'reinforce' ? ['This run learns from the discounted return of each turn; the advantage is only recorded.'] : []),
  ];
  return parts.join(' ');
}
