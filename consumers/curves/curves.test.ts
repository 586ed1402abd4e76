import { describe, expect, it } from 'vitest';
import { createFakeStore } from '../../infra/testing/fake-store.ts';
import { readCurves, readHeldout } from './curves.ts';

describe('curves', () => {
  it('are read in ranges, without values that are not numbers', async () => {
    const asked: unknown[] = [];
    const store = createFakeStore(({ sql, params }) => {
      if (sql.includes('from steps')) return [{ first: 1, last: 2_500, steps: 2_500 }];
      if (sql.includes('from step_spreads')) return [{ step: asked.length, at_ms: 5, reward_all_mean: 0.25 }];
      asked.push(params);
      return [{ step: asked.length, at_ms: 5, reward_mean: 0.5, loss: null, ess: 'NaN' }];
    });
    expect(await readCurves(store, 'r')).toEqual([
      { step: 1, atMs: 5, values: { reward_mean: 0.5, reward_all_mean: 0.25 } },
      { step: 2, atMs: 5, values: { reward_mean: 0.5, reward_all_mean: 0.25 } },
    ]);
    expect(asked).toEqual([
      { run: 'r', from: 1, to: 2_001 },
      { run: 'r', from: 2_001, to: 4_001 },
    ]);
    const empty = createFakeStore(() => [{ first: 0, last: 0, steps: 0 }]);
    await expect(readCurves(empty, 'nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('of held-out scores have the prefix heldout_', async () => {
    const store = createFakeStore(() => [{ step: 50, at_ms: 7, samples: 4, avg_f1: 0.5, avg_f1_low: 0.4 }]);
    expect(await readHeldout(store, 'r')).toEqual([
      { step: 50, atMs: 7, values: { heldout_samples: 4, heldout_avg_f1: 0.5, heldout_avg_f1_low: 0.4 } },
    ]);
  });
});
