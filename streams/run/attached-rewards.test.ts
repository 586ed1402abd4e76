import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finished, requested, rewarded, started, turn } from '../../infra/testing/rollout-events.ts';
import type { RunStarted, TrajectoryExpired } from '../../schemas/generated/events.ts';
import { accountBatch, select } from '../batch/batch.ts';
import { discardsOf } from '../batch/discards.ts';
import { foldLedger, foldRollout, foldTask } from './fold.ts';
import type { RolloutEvent } from '../trajectory/rollout-view.ts';
import { newRunState, type RunState } from './run-state.ts';

const ids = ['g.0', 'g.1'] as const;
const at = { partition: 0, offset: 0 };
const rules = { algorithm: 'grpo', version: 0, batchGroups: 1, maxStaleness: 9, stalePolicy: 'discard' };

function stateOf(names: string): RunState {
  const state = newRunState('run-a');
  const settings = JSON.stringify({ requests: names === '' ? {} : { rewardNames: names } });
  const event = { steps: 0, weights_sha256: '', backend: 'cpu', settings } as RunStarted;
  foldLedger(state, { type: 'RunStarted', event }, { body: Buffer.alloc(0), offset: 0 });
  for (const trajectory of ids) foldTask(state, requested({ trajectory }), at);
  return state;
}

const answer = (trajectory: string, reward: number): readonly RolloutEvent[] => [
  { type: 'TrajectoryStarted', event: started({ trajectory, sequence: 0 }) },
  { type: 'TurnRecorded', event: turn({ trajectory, sequence: 1 }, 0) },
  { type: 'TrajectoryFinished', event: finished({ trajectory, sequence: 2 }, reward) },
];
const attached = (trajectory: string, value: number, fields: Parameters<typeof rewarded>[2] = {}): RolloutEvent => ({
  type: 'RewardAttached',
  event: rewarded({ trajectory }, value, fields),
});

const folded = (names: string, events: readonly RolloutEvent[]): RunState => {
  const state = stateOf(names);
  for (const event of events) foldRollout(state, event, at);
  return state;
};
const groupOf = (state: RunState) => state.groups.get('g')!;
const rewardsOf = (state: RunState) => accountBatch([groupOf(state)], 0, new Map()).map(({ reward, advantage }) => [reward, advantage]);
const verdict = (state: RunState) => {
  const { running, ready, discards } = select([groupOf(state)], rules, new Set());
  return discards[0]?.reason ?? (ready > 0 ? 'ready' : `${running} running`);
};
const giveUp = (state: RunState, trajectory: string): void => {
  const event = { trajectory_id: trajectory, attempt: 0, next_attempt: -1, reason: 'reward_timeout' } as TrajectoryExpired;
  foldLedger(state, { type: 'TrajectoryExpired', event }, { body: Buffer.alloc(0), offset: 1 });
};
const both = [...answer('g.0', 0.5), ...answer('g.1', 0.5)];

describe('attached rewards', () => {
  it('have the same effect in any order and with any repetitions, to the last bit', () => {
    const place = fc.record({
      trajectory: fc.constantFrom(...ids),
      name: fc.constantFrom('a', 'b', 'c'),
      identifier: fc.constantFrom('', 'x', 'y'),
    });
    const one = fc.tuple(place, fc.integer({ min: -1, max: 2 }), fc.double({ noNaN: true, noDefaultInfinity: true }));
    const given = fc.uniqueArray(one, { selector: ([where, turnOf]) => JSON.stringify([where, turnOf]), maxLength: 12 });
    fc.assert(
      fc.property(given, fc.infiniteStream(fc.nat()), fc.constantFrom('', 'a', 'a,b'), (rewards, picks, names) => {
        const events = [
          ...both,
          ...rewards.map(([{ trajectory, name, identifier }, turnOf, value]) =>
            attached(trajectory, value, { name, identifier, turn: turnOf }),
          ),
        ];
        const next = (below: number): number => Number(picks.next().value) % below;
        const shuffled = [...events].sort(() => next(3) - 1);
        const messy = shuffled.flatMap((event) => (next(3) === 0 ? [event, events[next(events.length)] ?? event] : [event]));
        const [straight, other] = [folded(names, events), folded(names, [...messy, ...events])];
        expect(verdict(other)).toBe(verdict(straight));
        expect(rewardsOf(other)).toEqual(rewardsOf(straight));
        for (const [reward] of rewardsOf(other)) expect(reward).toSatisfy(Number.isFinite);
      }),
    );
  });

  it('count only if their name is among the reward names of the run', () => {
    for (const names of ['', 'a']) {
      const state = folded(names, [
        ...both,
        attached('g.0', 1, { name: 'a' }),
        attached('g.1', 0, { name: 'a' }),
        attached('g.1', 7, { name: 'z' }),
      ]);
      expect(rewardsOf(state).map(([reward]) => reward)).toEqual(names === '' ? [0.5, 0.5] : [1.5, 0.5]);
      expect(verdict(state)).toBe(names === '' ? 'uniform_group' : 'ready');
    }
  });

  it('are waited for by name, and added to the recorded reward', () => {
    const state = folded('a,b', both);
    expect(verdict(state)).toBe('1 running');
    for (const id of ids) foldRollout(state, attached(id, id === 'g.0' ? 1 : 2, { name: 'a' }), at);
    foldRollout(state, attached('g.0', 0, { name: 'b', turn: 0 }), at);
    expect(verdict(state)).toBe('1 running');
    foldRollout(state, attached('g.1', Number.NaN, { name: 'b' }), at);
    expect(verdict(state)).toBe('1 running');
    foldRollout(state, attached('g.1', -1, { name: 'b' }), at);
    expect(rewardsOf(state).map(([reward]) => reward)).toEqual([1.5, 1.5]);
    expect(verdict(state)).toBe('uniform_group');
  });

  it('that never arrive leave their trajectory incomplete, and the group is decided without it', () => {
    const state = folded('a', [...both, attached('g.0', 1, { name: 'a' })]);
    giveUp(state, 'g.1');
    expect(state.decided.has('g')).toBe(true);
    expect(verdict(state)).toBe('incomplete');
    const told = discardsOf(groupOf(state), { trained: new Set(['g.0']), reason: 'expired' }).map(({ trajectory, reason }) => [
      trajectory.id,
      reason,
    ]);
    expect(told).toEqual([['g.1', 'incomplete']]);
    foldRollout(state, attached('g.1', 0, { name: 'a' }), at);
    expect(verdict(state), 'one that comes before the group closes still counts').toBe('ready');
  });

  it('that arrive after the group closed count as late records and change nothing else', () => {
    const state = folded('a', both);
    foldLedger(
      state,
      { type: 'TrajectoryDiscarded', event: { group_id: 'g', reason: 'stale' } as never },
      { body: Buffer.alloc(0), offset: 1 },
    );
    const before = structuredClone(state.groups);
    foldRollout(state, attached('g.0', 1, { name: 'a' }), at);
    expect([state.groups, state.lateRecords]).toEqual([before, 1]);
  });
});
