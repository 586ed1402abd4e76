// Decides what happens to groups that have an outcome: which carry no learning signal, which are too stale, which form the next batch.
import { createHash } from 'node:crypto';
import { groupAdvantages, isUniform } from '../advantage/advantage.ts';
import { finishedOf, isResolved, type FinishedTrajectory, type Group } from '../group/group.ts';
import { stalenessOf, unknownShare, type Staleness, type TokenAges } from '../staleness/staleness.ts';
import { decisionsOf, rewardOf, spansOf, type Attempt, type AttemptOutcome } from '../trajectory/attempt.ts';

export const discardReasons = [
  'uniform_group',
  'stale',
  'incomplete',
  'expired',
  'lost',
  'rewound',
  'superseded',
  'invalid',
  'unknown_version',
] as const;
export type DiscardReason = (typeof discardReasons)[number];

export interface BatchRules {
  /** `grpo` or `reinforce`. */
  readonly algorithm: string;
  /** t-1, where t is the step that would train the group. */
  readonly version: number;
  readonly batchGroups: number;
  readonly maxStaleness: number;
  readonly stalePolicy: string;
  /** True for a version that a rewind removed from the chain of versions. */
  readonly isAbandoned?: (version: number) => boolean;
  /** Largest share of a trajectory's tokens that may come from an unknown version, 0 to 1; default 1. */
  readonly maxUnknown?: number | undefined;
}

type GroupVerdict =
  { readonly kind: 'running' } | { readonly kind: 'ready' } | { readonly kind: 'discard'; readonly reason: DiscardReason };

/** GRPO compares the trajectories of a group, so at least two must finish. */
const SMALLEST_GROUP = 2;

/** GRPO learns from reward differences within a group. REINFORCE learns from the return of each turn and needs no differences. */
const teachesNothing = (finished: readonly FinishedTrajectory[], { algorithm }: BatchRules): boolean =>
  algorithm !== 'reinforce' && isUniform(rewardsOf(finished));

/** True if part of it was sampled from a version that a rewind abandoned. */
const isOfAbandoned = (attempt: Attempt, { isAbandoned }: BatchRules): boolean =>
  isAbandoned !== undefined && spansOf(attempt).some(({ version }) => isAbandoned(version));

/** True if too many tokens come from unknown versions, so that the staleness is unknown. */
const isUnknown = (finished: readonly FinishedTrajectory[], { maxUnknown = 1, version }: BatchRules): boolean =>
  maxUnknown < 1 && finished.some(({ attempt }) => unknownShare(spansOf(attempt), version) > maxUnknown);

/** Decides what to do with a group now. */
function judge(group: Group, rules: BatchRules): GroupVerdict {
  if (!isResolved(group)) return { kind: 'running' };
  const finished = finishedOf(group);
  if (finished.length < SMALLEST_GROUP) return { kind: 'discard', reason: 'incomplete' };
  if (teachesNothing(finished, rules)) return { kind: 'discard', reason: 'uniform_group' };
  if (finished.some(({ attempt }) => isOfAbandoned(attempt, rules))) return { kind: 'discard', reason: 'rewound' };
  if (isUnknown(finished, rules)) return { kind: 'discard', reason: 'unknown_version' };
  const worst = Math.max(...finished.map(({ attempt }) => stalenessOf(spansOf(attempt), rules.version).worst));
  return worst > rules.maxStaleness && rules.stalePolicy !== 'train' ? { kind: 'discard', reason: 'stale' } : { kind: 'ready' };
}

/**
 * True for a group that can no longer be trained on, however it ends: every trajectory was requested at a version that is now too old.
 * Requests that name no version (-1: the newest) are never too old.
 */
export function isOutdated(group: Group, { version, maxStaleness, stalePolicy }: BatchRules): boolean {
  const requests = [...group.trajectories.values()].map(({ request }) => request.policy_version);
  return stalePolicy !== 'train' && requests.length > 0 && requests.every((asked) => asked >= 0 && version - asked > maxStaleness);
}

export interface BatchSelection {
  /** Groups of the next batch, oldest first; fewer than batchGroups when there are not enough. */
  readonly batch: readonly Group[];
  readonly discards: readonly { readonly group: Group; readonly reason: DiscardReason }[];
  readonly running: number;
  /** Groups that can be trained on. */
  readonly ready: number;
}

/** Examines every open group except those in `busy`, which are being trained on. Oldest ready groups come first. */
export function select(groups: Iterable<Group>, rules: BatchRules, busy: ReadonlySet<string>): BatchSelection {
  const ready: Group[] = [];
  const discards: { group: Group; reason: DiscardReason }[] = [];
  let running = 0;
  for (const group of groups) {
    if (busy.has(group.id)) continue;
    const verdict = judge(group, rules);
    if (verdict.kind === 'running') running += 1;
    else if (verdict.kind === 'ready') ready.push(group);
    else discards.push({ group, reason: verdict.reason });
  }
  ready.sort((a, b) => a.order - b.order);
  return { batch: ready.slice(0, rules.batchGroups), discards, running, ready: ready.length };
}

/** One trajectory, with everything that its step or its discard records about it. */
export interface AccountedTrajectory {
  readonly groupId: string;
  readonly trajectoryId: string;
  readonly questionId: string;
  readonly attempt: Attempt;
  readonly ending: AttemptOutcome;
  readonly reward: number;
  readonly advantage: number;
  readonly staleness: Staleness;
}

const rewardsOf = (finished: readonly FinishedTrajectory[]): readonly number[] => finished.map(({ attempt }) => rewardOf(attempt));

/** The trajectories of a batch, ordered by admission of the group, then by sample. Adds the token ages of the batch to `ages`. */
export function accountBatch(batch: readonly Group[], version: number, ages: TokenAges): readonly AccountedTrajectory[] {
  return batch.flatMap((group) => {
    const finished = finishedOf(group);
    const rewards = rewardsOf(finished);
    const advantages = groupAdvantages(rewards);
    return finished.flatMap(({ trajectory, attempt }, i) => {
      if (attempt.ending === undefined) return [];
      const staleness = stalenessOf(spansOf(attempt), version, ages);
      const ids = { groupId: group.id, trajectoryId: trajectory.id, questionId: group.questionId };
      return [{ ...ids, attempt, ending: attempt.ending, reward: rewards[i] ?? 0, advantage: advantages[i] ?? 0, staleness }];
    });
  });
}

/**
 * SHA-256 (hex) of the learner's whole input: for each trajectory, in order, its id, attempt, reward and advantage, and for each decision
 * its features, choice, log-probability, version and reward.
 */
export function batchHash(trajectories: readonly AccountedTrajectory[]): string {
  const hash = createHash('sha256');
  const numbers = Buffer.alloc(32);
  for (const { trajectoryId, attempt, reward, advantage } of trajectories) {
    numbers.writeDoubleLE(attempt.number, 0);
    numbers.writeDoubleLE(reward, 8);
    numbers.writeDoubleLE(advantage, 16);
    hash.update(`${trajectoryId}\n`).update(numbers.subarray(0, 24));
    for (const { decision, version, reward: turnReward } of decisionsOf(attempt)) {
      numbers.writeDoubleLE(decision.chosen, 0);
      numbers.writeDoubleLE(decision.logprob, 8);
      numbers.writeDoubleLE(version, 16);
      numbers.writeDoubleLE(turnReward, 24);
      hash.update(decision.features).update(numbers);
    }
  }
  return hash.digest('hex');
}
