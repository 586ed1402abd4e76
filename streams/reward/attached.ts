// Rewards that were attached to an attempt after the fact. Identity, not arrival, decides: a repeated target, name, and identifier changes
// nothing. The reward that is trained on is the recorded one plus the attached ones of the names that the run trains on. They are added in
// the order of their identity, so that the sum is the same to the last bit in whatever order they came.
import type { RewardAttached } from '../../schemas/generated/events.ts';

/** Without slashes, which separate the parts of an event id. */
export const rewardNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export type RewardTarget = Pick<RewardAttached, 'trajectory_id' | 'attempt' | 'turn' | 'name' | 'identifier'>;

/** No part before the last has a slash, so no two identities have the same id. */
export const rewardEventId = ({ trajectory_id: id, attempt, turn, name, identifier }: RewardTarget): string =>
  [id, attempt, turn, name, identifier].join('/');

/** Values by name, then by turn and identifier. */
export type AttachedRewards = Map<string, Map<string, number>>;

type KeptReward = Pick<RewardAttached, 'turn' | 'name' | 'identifier' | 'value'>;

/** Keeps a reward; the first of an identity counts. */
export function keepReward(rewards: AttachedRewards, { turn, name, identifier, value }: KeptReward): void {
  const ofName = rewards.get(name) ?? new Map<string, number>();
  rewards.set(name, ofName);
  const identity = `${turn}/${identifier}`;
  if (!ofName.has(identity)) ofName.set(identity, value);
}

/** Sums that overflow stay at the largest double. */
const clamped = (value: number): number => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));

const inOrder = <T>(entries: Map<string, T>): readonly (readonly [string, T])[] => [...entries].sort(([a], [b]) => (a < b ? -1 : 1));

/** The recorded reward with the attached ones. */
export function withAttached(recorded: number, rewards: AttachedRewards | undefined): number {
  if (rewards === undefined) return recorded;
  let sum = recorded;
  for (const [, ofName] of inOrder(rewards)) for (const [, value] of inOrder(ofName)) sum = clamped(sum + value);
  return sum;
}

/** True when there is a reward of each of these names. */
export const hasRewards = (rewards: AttachedRewards | undefined, names: readonly string[]): boolean =>
  names.every((name) => rewards?.has(name) === true);

/** The names in a comma-separated list, sorted and each once; undefined when one of them is not valid. */
export function parseRewardNames(text: string): readonly string[] | undefined {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return names.every((name) => rewardNamePattern.test(name)) ? [...new Set(names)].sort() : undefined;
}
