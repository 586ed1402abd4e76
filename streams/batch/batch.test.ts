import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finished, requested, started, turn } from '../../infra/testing/rollout-events.ts';
import { attemptOf, foldRequest, newGroup, noteEnding, noteExhausted, type Group } from '../group/group.ts';
import { foldFinished, foldStarted, foldTurn } from '../trajectory/attempt.ts';
import { accountBatch, batchHash, isOutdated, select, type BatchRules } from './batch.ts';

/** A group with these rewards; `undefined` = given up, `null` = not ended. Its turns are at `version`. */
function groupOf(order: number, rewards: readonly (number | undefined | null)[], version = 0): Group {
  const idOf = (sample: number) => `g${order}.${sample}`;
  const size = { group_size: rewards.length, group_index: order };
  const group = newGroup(requested({ trajectory: idOf(0) }, size));
  rewards.forEach((reward, sample) => {
    const at = (sequence: number) => ({ trajectory: idOf(sample), sequence });
    foldRequest(group, requested(at(0), size), { partition: 0, offset: order });
    const trajectory = group.trajectories.get(idOf(sample))!;
    const attempt = attemptOf(trajectory, 0)!;
    foldStarted(attempt, started(at(0)));
    foldTurn(attempt, turn(at(1), version));
    if (typeof reward === 'number') foldFinished(attempt, finished(at(2), reward));
    noteEnding(group, trajectory, attempt);
    if (reward === undefined) noteExhausted(group, trajectory);
  });
  return group;
}

const rules: BatchRules = { algorithm: 'grpo', version: 3, batchGroups: 2, maxStaleness: 2, stalePolicy: 'discard' };
const reasonsOf = (groups: readonly Group[], over: Partial<BatchRules> = {}) =>
  select(groups, { ...rules, ...over }, new Set()).discards.map(({ reason }) => reason);

describe('select', () => {
  it('discards groups that have no learning signal, are too small, or are too stale, each with its reason', () => {
    expect(reasonsOf([groupOf(0, [1, 1], 3), groupOf(1, [1, undefined], 3), groupOf(2, [0, 1], 0), groupOf(3, [0, 1], 1)])).toEqual([
      'uniform_group',
      'incomplete',
      'stale',
    ]);
  });

  it('trains groups of equal rewards if the algorithm compares nothing within a group', () => {
    const uniform = groupOf(0, [1, 1], 3);
    expect(select([uniform], { ...rules, algorithm: 'reinforce' }, new Set())).toMatchObject({ batch: [uniform], discards: [] });
    expect(reasonsOf([groupOf(1, [1, undefined], 3), groupOf(2, [1, 1], 0)], { algorithm: 'reinforce' })).toEqual(['incomplete', 'stale']);
  });

  it('discards groups with too large a share of tokens from unknown versions, and none without a limit', () => {
    // -1: the engine reported none, or one of another run; 4: from the future
    const groups = [groupOf(0, [0, 1], -1), groupOf(1, [0, 1], 4), groupOf(2, [0, 1], 3)];
    expect(reasonsOf(groups)).toEqual([]);
    for (const maxUnknown of [0, 0.5, 0.99]) expect(reasonsOf(groups, { maxUnknown })).toEqual(['unknown_version', 'unknown_version']);
    expect(reasonsOf(groups, { maxUnknown: 0, stalePolicy: 'train' }).length).toBe(2);
    expect(reasonsOf(groups, { maxUnknown: 1 })).toEqual([]);
    expect(reasonsOf([groupOf(0, [1, 1], -1), groupOf(1, [1, undefined], -1)], { maxUnknown: 0 })).toEqual(['uniform_group', 'incomplete']);
  });

  it('keeps stale groups if they are to be trained', () => {
    const group = groupOf(0, [0, 1], 0);
    expect(reasonsOf([group])).toEqual(['stale']);
    expect(select([group], { ...rules, stalePolicy: 'train' }, new Set())).toMatchObject({ batch: [group], discards: [], ready: 1 });
  });

  it('recognizes outdated groups before they have an outcome, by the version that they request', () => {
    const asked = (version: number) => {
      const group = newGroup(requested({ trajectory: 'g0.0' }, { group_size: 2 }));
      foldRequest(group, requested({ trajectory: 'g0.0' }, { policy_version: version }), { partition: 0, offset: 0 });
      return group;
    };
    const sync = { ...rules, maxStaleness: 0 };
    expect([-1, 2, 3, 4].map((version) => isOutdated(asked(version), sync))).toEqual([false, true, false, false]);
    expect(isOutdated(asked(2), rules)).toBe(false);
    expect(isOutdated(asked(2), { ...sync, stalePolicy: 'train' })).toBe(false);
    expect(isOutdated(newGroup(requested({ trajectory: 'g0.0' })), sync)).toBe(false);
  });

  it('takes the oldest ready groups, and none that run or are being trained on', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2, 3, 4, 5]), fc.nat(5), (orders, busy) => {
        const groups = orders.map((order) => groupOf(order, order === 3 ? [0, null] : [0, 1], 3));
        const selection = select(groups, rules, new Set([`g${busy}`]));
        const ready = orders.filter((order) => order !== busy && order !== 3).sort((a, b) => a - b);
        expect(selection.batch.map(({ order }) => order)).toEqual(ready.slice(0, 2));
        expect(selection.ready).toBe(ready.length);
        expect(selection.running).toBe(orders.includes(3) && busy !== 3 ? 1 : 0);
        expect(selection.discards).toEqual([]);
      }),
    );
  });
});

describe('accountBatch', () => {
  it('accounts for the trajectories that finished, in the order of admission and sample', () => {
    const ages = new Map<number, number>();
    const accounted = accountBatch([groupOf(0, [0, undefined, 1], 2), groupOf(1, [1, 0], 3)], 3, ages);
    expect(accounted.map(({ trajectoryId, reward }) => [trajectoryId, reward])).toEqual([
      ['g0.0', 0],
      ['g0.2', 1],
      ['g1.0', 1],
      ['g1.1', 0],
    ]);
    expect(accounted.map(({ staleness }) => staleness.total)).toEqual([1, 1, 0, 0]);
    expect(ages).toEqual(
      new Map([
        [1, 20],
        [0, 20],
      ]),
    );
  });
});

describe('batchHash', () => {
  const accounted = accountBatch([groupOf(0, [0, 1]), groupOf(1, [1, 0])], 0, new Map());

  it('is equal for equal batches, and differs for another order, id, or number', () => {
    const hash = batchHash(accounted);
    expect(batchHash([...accounted])).toBe(hash);
    expect(batchHash(accounted.toReversed())).not.toBe(hash);
    const [first, ...others] = accounted;
    expect(batchHash([{ ...first!, reward: 0.5 }, ...others])).not.toBe(hash);
    expect(batchHash([{ ...first!, advantage: 0.25 }, ...others])).not.toBe(hash);
    expect(batchHash([{ ...first!, trajectoryId: 'g9.0' }, ...others])).not.toBe(hash);
  });
});
