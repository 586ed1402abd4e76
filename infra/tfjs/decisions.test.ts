import { describe, expect, it } from 'vitest';
import type { TrainingTrajectory, TrainingTurn } from '../../streams/core/learning.ts';
import { discountedReturns, packBatch, select } from './decisions.ts';

const turn = (changes: Partial<TrainingTurn> & { readonly values?: readonly number[] } = {}): TrainingTurn => ({
  features: Buffer.from(Float32Array.from(changes.values ?? [1, 2, 3, 4]).buffer),
  candidates: 2,
  width: 2,
  chosen: 1,
  logprob: -0.7,
  version: 3,
  reward: 0,
  ...changes,
});
const trajectory = (turns: readonly TrainingTurn[], changes: Partial<TrainingTrajectory> = {}): TrainingTrajectory => ({
  trajectoryId: 't',
  reward: 1,
  advantage: 0.5,
  turns,
  ...changes,
});
const pack = (turns: readonly TrainingTurn[], advantage = 0.5) =>
  packBatch({ step: 4, trajectories: [trajectory(turns, { advantage })] }, 2, (one) => one.turns.map(() => one.advantage));

describe('packBatch', () => {
  it('lays decisions of different sizes one after the other', () => {
    const { decisions, excluded, step } = pack([turn(), turn({ candidates: 1, chosen: 0, values: [5, 6], logprob: -0 }), turn()]);
    expect(step).toBe(4);
    expect(excluded).toBe(0);
    expect([...decisions.features]).toEqual([1, 2, 3, 4, 5, 6, 1, 2, 3, 4]);
    expect([...decisions.starts]).toEqual([0, 2, 3, 5]);
    expect([...decisions.chosen]).toEqual([1, 0, 1]);
    expect([...decisions.signals]).toEqual([0.5, 0.5, 0.5]);
  });

  it('reads features that lie unaligned in a larger buffer', () => {
    const large = Buffer.alloc(100);
    turn().features.copy(large, 3);
    expect([...pack([turn({ features: large.subarray(3, 19) })]).decisions.features]).toEqual([1, 2, 3, 4]);
  });

  it.each<[string, Partial<TrainingTurn> & { values?: readonly number[] }]>([
    ['another width', { width: 3 }],
    ['too few bytes', { values: [1, 2, 3] }],
    ['no candidates', { candidates: 0, chosen: 0, values: [] }],
    ['a choice that is not there', { chosen: 2 }],
    ['a negative choice', { chosen: -1 }],
    ['half a choice', { chosen: 0.5 }],
    ['features that are no numbers', { values: [1, NaN, 3, 4] }],
    ['features that are infinite', { values: [1, 2, -Infinity, 4] }],
    ['absurd features', { values: [1, 2, 1e9, 4] }],
    ['an unknown log-probability', { logprob: NaN }],
    ['a probability over 1', { logprob: 2 }],
    ['an infinite probability', { logprob: Infinity }],
  ])('leaves out and counts a decision with %s', (_, changes) => {
    const { decisions, excluded } = pack([turn(changes), turn()]);
    expect(excluded).toBe(1);
    expect(decisions.chosen).toHaveLength(1);
  });

  it('keeps unknown versions and impossible choices, and leaves out unknown learning signals', () => {
    expect(pack([turn({ version: -1 })]).excluded).toBe(0);
    expect([...pack([turn({ logprob: -Infinity }), turn({ logprob: 1e-4 })]).decisions.logprobs]).toEqual([-Infinity, 0]);
    expect(pack([turn()], NaN).excluded).toBe(1);
    expect(pack([turn()], Infinity).excluded).toBe(1);
    expect([...pack([turn()], -1e300).decisions.signals]).toEqual([-1e6]);
    expect(packBatch({ step: 1, trajectories: [trajectory([turn()])] }, 2, () => []).excluded).toBe(1);
  });
});

describe('select', () => {
  it('copies decisions in the given order', () => {
    const { decisions } = pack([turn(), turn({ candidates: 1, chosen: 0, values: [5, 6] })]);
    const picked = select(
      [1, 0, 1].map((index) => ({ decisions, index })),
      2,
    );
    expect([...picked.features]).toEqual([5, 6, 1, 2, 3, 4, 5, 6]);
    expect([...picked.starts]).toEqual([0, 1, 3, 4]);
    expect([...picked.chosen]).toEqual([0, 1, 0]);
  });
});

describe('discountedReturns', () => {
  it('adds the final reward on the last turn and discounts it backwards', () => {
    expect(discountedReturns(trajectory([turn({ reward: 1 }), turn(), turn({ reward: 0.5 })], { reward: 2 }), 0.5)).toEqual([
      1.625, 1.25, 2.5,
    ]);
  });

  it('is empty without turns', () => {
    expect(discountedReturns(trajectory([]), 0.9)).toEqual([]);
  });
});
