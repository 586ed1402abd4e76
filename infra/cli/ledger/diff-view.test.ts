import { describe, expect, it } from 'vitest';
import { renderDiff } from './diff-view.ts';
import type { RunsDiff } from './ledger-diff.ts';

const count = { compared: 4, differing: 0, onlyA: 0, onlyB: 0 };
const diff: RunsDiff['diff'] = {
  ...{ same: true, trainedSame: true, settings: [], questions: count, discards: count, first: undefined, firstStep: undefined },
  steps: { ...count, equal: 4, byField: {} },
};
const outline = { step: 2, partition: 0, offset: 9, digests: {} } as unknown as NonNullable<RunsDiff['diff']['firstStep']>['a'];

describe('the difference of two ledgers', () => {
  const show = (change: Partial<RunsDiff['diff']>, stepDifferences: RunsDiff['stepDifferences'] = []): string =>
    renderDiff({ a: 'one', b: 'two', diff: { ...diff, ...change }, stepDifferences });

  it('says that there is none', () => {
    expect(show({})).toBe(
      'one and two\n  settings    equal\n  questions   4 in both, all equal\n  steps       4 in both, all equal\n  discards    4 in both, all equal\nSAME: settings, questions, batches, discards, and weights are equal\n',
    );
  });

  it('shows the first divergence and the values of the first step that differs', () => {
    const first = { kind: 'step', at: 2, what: 'rewards', a: '', b: '' } as const;
    const steps = { ...count, differing: 2, equal: 2, onlyB: 1, byField: { rewards: 2 } };
    const text = show({ same: false, trainedSame: false, first, steps, firstStep: { a: outline, b: outline } }, [
      { field: 'rewards', name: 'reward', trajectory: 'g1.0', a: '1', b: '0' },
      { field: 'totals', name: 'tokens', trajectory: '', a: '9', b: '8' },
    ]);
    expect(text).toContain('steps       4 in both, 2 differ, 1 only in two (rewards in 2)\n');
    expect(text).toContain(
      'first divergence: step 2, rewards\nstep 2, the first that differs:\n  g1.0 reward: 1 and 0\n  tokens: 9 and 8\n',
    );
    expect(text).toContain('DIFFER in what they trained on');
    expect(show({ first, firstStep: { a: outline, b: outline } })).toContain('in another order');
  });

  it('shows differences that did not change what was trained on', () => {
    const settings = [{ name: 'seed', a: '1', b: '2' }];
    const text = show({ same: false, settings, first: { kind: 'settings', at: -1, what: 'seed', a: '1', b: '2' } });
    expect(text).toContain('settings    seed 1 and 2\n');
    expect(text).toContain('first divergence: settings, before the first step, seed: 1 and 2');
    expect(text).toContain('DIFFER, but not in what they trained on');
    expect(show({ first: { kind: 'discards', at: 3, what: 'g1.0/0', a: 'x', b: 'y' } })).toContain(
      'discards, at version 3, g1.0/0: x and y',
    );
    expect(show({ first: { kind: 'step', at: 5, what: 'steps', a: 'ends', b: 'goes on' } })).toContain('step 5, steps: ends and goes on');
  });
});
