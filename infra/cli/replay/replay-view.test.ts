import { describe, expect, it } from 'vitest';
import type { StepReplay } from '../../../consumers/trainer/replay.ts';
import type { RunsDiff } from '../ledger/ledger-diff.ts';
import { renderDiff, renderStep } from './replay-view.ts';

const step: StepReplay = {
  ...{ step: 3, ok: true, groups: 2, trajectories: 8, tokens: 80, batchSha256: 'abcdef0123456789', from: 'resume', compared: 190 },
  ...{ staleness: { mean: 0.5, p95: 1, max: 2 }, differences: [], update: undefined },
};
const count = { compared: 4, differing: 0, onlyA: 0, onlyB: 0 };
const diff: RunsDiff['diff'] = {
  ...{ same: true, trainedSame: true, settings: [], questions: count, discards: count, first: undefined, firstStep: undefined },
  steps: { ...count, equal: 4, byField: {} },
};
const outline = { step: 2, partition: 0, offset: 9, digests: {} } as unknown as NonNullable<RunsDiff['diff']['firstStep']>['a'];

describe('a replayed step', () => {
  it('is one line when it is what the ledger says', () => {
    expect(renderStep(step)).toBe(
      'ok     step 3: 2 groups, 8 trajectories, 80 tokens, staleness mean 0.50 p95 1 max 2, batch abcdef012345, 190 values compared\n',
    );
    const update = { backend: 'wasm', recordedBackend: 'wasm', largestDifference: 0 };
    expect(renderStep({ ...step, update })).toContain('batch abcdef012345, the same weights (wasm), 190');
    expect(renderStep({ ...step, update: { ...update, backend: 'cpu', largestDifference: 2e-7 } })).toContain(
      'weights up to 2.00e-7 apart (cpu, made on wasm)',
    );
  });

  it('lists what differs, not all of it', () => {
    const one = { field: 'reward', trajectory: 'g.0', recorded: '1', rebuilt: '2' };
    const text = renderStep({
      ...step,
      ok: false,
      from: 'start',
      differences: [{ ...one, trajectory: '', recorded: 'x'.repeat(99) }, ...Array<typeof one>(11).fill(one)],
    });
    expect(text).toContain('DIFFER step 3');
    expect(text).toContain('read from the first record');
    expect(text).toContain('  g.0 reward: the ledger has 1, the replay 2\n');
    expect(text).toContain(`  reward: the ledger has ${'x'.repeat(75)}…,`);
    expect(text).toContain('  … and 2 differences\n');
  });
});

describe('the difference of two ledgers', () => {
  const show = (change: Partial<RunsDiff['diff']>, stepDifferences: RunsDiff['stepDifferences'] = []): string =>
    renderDiff({ a: 'one', b: 'two', diff: { ...diff, ...change }, stepDifferences });

  it('says that there is none', () => {
    expect(show({})).toBe(
      'one and two\n  settings    equal\n  questions   4 in both, all equal\n  steps       4 in both, all equal\n  discards    4 in both, all equal\nSAME: they were asked, trained on, discarded and made the same\n',
    );
  });

  it('says what comes first, and shows the first step that differs', () => {
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

  it('tells differences that changed nothing about the training', () => {
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
