import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchStaleness, namedStaleness } from './batch-staleness.ts';
import { stalenessOf, type TokenAges } from './staleness.ts';

const span = fc.record({ version: fc.integer({ min: -2, max: 30 }), tokens: fc.integer({ min: 0, max: 500 }) });
const batch = fc.array(fc.array(span, { maxLength: 12 }), { maxLength: 30 });

function accountsOf(trajectories: readonly (readonly { version: number; tokens: number }[])[], version: number) {
  const ages: TokenAges = new Map();
  const accounts = trajectories.map((spans) => ({ staleness: stalenessOf(spans, version, ages) }));
  return { accounts, ages };
}

describe('the staleness of a batch', () => {
  it('is the sum of its in-flight and in-queue parts, and its mean and percentiles do not exceed its maximum', () => {
    fc.assert(
      fc.property(batch, fc.integer({ min: 0, max: 30 }), (trajectories, version) => {
        const { accounts, ages } = accountsOf(trajectories, version);
        const found = batchStaleness(accounts, ages);
        expect(found.inFlightMean + found.inQueueMean).toBeCloseTo(found.mean, 12);
        const totals = accounts.map(({ staleness }) => staleness.total);
        expect(found.mean).toBe(totals.length === 0 ? 0 : totals.reduce((sum, total) => sum + total, 0) / totals.length);
        expect(found.max).toBe(Math.max(0, ...totals));
        expect(found.p95).toBe([...totals].sort((a, b) => a - b)[Math.ceil(0.95 * totals.length) - 1] ?? 0);
        expect(found.mean).toBeLessThanOrEqual(found.max);
        expect(found.tokenMean).toBeLessThanOrEqual(found.tokenMax);
        expect(found.tokenP95).toBeLessThanOrEqual(found.tokenMax);
      }),
    );
  });

  it('counts a trajectory once, however long, and a token once, whoever wrote it', () => {
    const old = [{ version: 0, tokens: 1_000 }];
    const fresh = [{ version: 4, tokens: 10 }];
    const { accounts, ages } = accountsOf([old, fresh, fresh], 4);
    const named = namedStaleness(batchStaleness(accounts, ages));
    expect(named).toMatchObject({ mean: 4 / 3, max: 4, in_flight_mean: 0, in_queue_mean: 4 / 3, token_p95: 4, token_max: 4 });
    expect(named.token_mean).toBeCloseTo(4_000 / 1_020, 12);
  });
});
