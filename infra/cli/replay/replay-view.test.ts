import { describe, expect, it } from 'vitest';
import type { StepReplay } from '../../../consumers/trainer/replay.ts';
import { renderStep } from './replay-view.ts';

const step: StepReplay = {
  ...{ step: 3, ok: true, groups: 2, trajectories: 8, tokens: 80, batchSha256: 'abcdef0123456789', from: 'resume', compared: 190 },
  ...{ staleness: { mean: 0.5, p95: 1, max: 2 }, differences: [], update: undefined },
};

describe('a replayed step', () => {
  it('is one line when it matches the ledger', () => {
    expect(renderStep(step)).toBe(
      'ok     step 3: 2 groups, 8 trajectories, 80 tokens, staleness mean 0.50 p95 1 max 2, batch abcdef012345, 190 values compared\n',
    );
    const update = { backend: 'wasm', recordedBackend: 'wasm', largestDifference: 0 };
    expect(renderStep({ ...step, update })).toContain('batch abcdef012345, the same weights (wasm), 190');
    expect(renderStep({ ...step, update: { ...update, backend: 'cpu', largestDifference: 2e-7 } })).toContain(
      'weights differ by up to 2.00e-7 (replayed on cpu, recorded on wasm)',
    );
  });

  it('lists the differences, up to a limit', () => {
    const one = { field: 'reward', trajectory: 'g.0', recorded: '1', rebuilt: '2' };
    const text = renderStep({
      ...step,
      ok: false,
      from: 'start',
      differences: [{ ...one, trajectory: '', recorded: 'x'.repeat(99) }, ...Array<typeof one>(11).fill(one)],
    });
    expect(text).toContain('DIFFER step 3');
    expect(text).toContain('rebuilt from the start of the log');
    expect(text).toContain('  g.0 reward: the ledger has 1, the replay 2\n');
    expect(text).toContain(`  reward: the ledger has ${'x'.repeat(75)}…,`);
    expect(text).toContain('  … and 2 differences\n');
  });
});
