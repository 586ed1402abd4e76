import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupAdvantages } from '../../../../streams/advantage/advantage.ts';
import { figure } from '../kit/format.ts';
import { alignAll, type Act } from './align.ts';
import { arithmeticOf, countedReward, formulaOf, rewardsOf } from './group-advantage.ts';

describe('the advantages of a group', () => {
  const decided = (fate: string, fate_reward: number | null, fate_reason = '') => ({ fate, fate_reason, fate_reward });

  it('are computed over the attempts that the group was decided with', () => {
    const others = [
      decided('discarded', 9, 'superseded'),
      decided('discarded', 9, 'invalid'),
      decided('discarded', 9, 'incomplete'),
      decided('discarded', 9, 'expired'),
      decided('lost', null, 'silent'),
      decided('open', null),
    ];
    const of = rewardsOf([decided('trained', 1), ...others, decided('trained', 0)]);
    expect(of).toEqual({ rewards: [1, 0], mean: 0.5, deviation: 0.5 });
    expect(arithmeticOf(of, 'grpo')).toContain('over the 2 attempts that counted: rewards 1, 0, mean 0.5, standard deviation 0.5.');
    expect([formulaOf(1, of), formulaOf(0, of)]).toEqual(['(1 − 0.5) / 0.5 = 1', '(0 − 0.5) / 0.5 = -1']);
    expect(others.map(countedReward)).toEqual(others.map(() => undefined));
  });

  it('are those that the trainer records', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1, max: 2, noNaN: true }), { minLength: 2, maxLength: 8 }), (rewards) => {
        const of = rewardsOf(rewards.map((reward) => decided('trained', reward)));
        const shown = rewards.map((reward) => formulaOf(reward, of).split(' = ')[1]);
        fc.pre(of.deviation > 1e-6);
        expect(shown).toEqual(groupAdvantages(rewards).map((advantage) => figure(advantage)));
      }),
    );
  });

  it('exist in groups that are collected, or discarded as a whole, and are not what REINFORCE learns from', () => {
    for (const [fate, reason] of [
      ['collected', ''],
      ['discarded', 'stale'],
      ['discarded', 'rewound'],
      ['discarded', 'unknown_version'],
    ] as const)
      expect(rewardsOf([decided(fate, 1, reason), decided(fate, 0, reason)]).rewards).toEqual([1, 0]);
    const uniform = rewardsOf([decided('discarded', 1, 'uniform_group'), decided('discarded', 1, 'uniform_group')]);
    expect(arithmeticOf(uniform, 'reinforce')).toMatch(/nothing to learn from a difference\. .*discounted return/);
    const equal = rewardsOf([0.1, 0.1, 0.1].map((reward) => decided('discarded', reward, 'uniform_group')));
    expect([equal.deviation, formulaOf(0.1, equal)]).toEqual([0, '(0.1 − 0.1) / 0 = 0']);
    expect(arithmeticOf(rewardsOf([decided('open', null)]), 'grpo')).toMatch(/^No advantage/);
  });
});

describe('attempts in columns', () => {
  const act = fc.record({ turn: fc.constant(0), tool: fc.constantFrom('search', 'access'), arguments: fc.constantFrom('a', 'b', 'c') });
  const call = (name: string): Act => ({ turn: 0, tool: 'search', arguments: name });

  it('contain every turn of each attempt once, in order, and no empty row', () => {
    fc.assert(
      fc.property(fc.array(fc.array(act, { maxLength: 8 }), { maxLength: 5 }), (attempts) => {
        const rows = alignAll(attempts);
        for (const [column, turns] of attempts.entries()) {
          expect(rows.map((row) => row[column]).filter((at) => at !== -1)).toEqual(turns.map((_, at) => at));
        }
        for (const row of rows) expect([row.length, row.some((at) => at >= 0)]).toEqual([attempts.length, true]);
      }),
    );
  });

  it('have the same call in one row, and rows for calls that the first attempt lacks', () => {
    const attempts = ['a b', 'x a b', 'a y b', 'x y a b'].map((names) => names.split(' ').map(call));
    expect(alignAll(attempts)).toEqual([
      [-1, 0, -1, 0],
      [-1, -1, -1, 1],
      [0, 1, 0, 2],
      [-1, -1, 1, -1],
      [1, 2, 2, 3],
    ]);
  });
});
