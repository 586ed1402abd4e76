import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRateLimiter } from './rate-limit.ts';

describe('a rate limiter', () => {
  it('never lets through more than its rate and its burst', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 50 }), (waits, perSecond) => {
        let now = 1_000;
        const limiter = createRateLimiter({ perSecond, now: () => now });
        const passed: number[] = [];
        for (const wait of waits) {
          now += wait;
          if (limiter.take('me') === 0) passed.push(now);
        }
        for (const [first, from] of passed.entries()) {
          for (const [count, until] of passed.slice(first).entries()) {
            expect(count + 1).toBeLessThanOrEqual(perSecond * 2 + ((until - from) * perSecond) / 1_000 + 1e-6);
          }
        }
      }),
    );
  });

  it('returns the time until the next request is allowed', () => {
    let now = 0;
    const limiter = createRateLimiter({ perSecond: 4, now: () => now });
    for (let count = 0; count < 8; count += 1) expect(limiter.take('me')).toBe(0);
    const waitMs = limiter.take('me');
    expect(waitMs).toBe(250);
    now += waitMs;
    expect(limiter.take('me')).toBe(0);
    expect(limiter.take('me')).toBeGreaterThan(0);
  });

  it('forgets the least recently seen caller, and has no limit at 0', () => {
    const limiter = createRateLimiter({ perSecond: 1, now: () => 0, maxCallers: 2 });
    for (const caller of ['a', 'a', 'b', 'c']) limiter.take(caller);
    expect(limiter.take('a')).toBe(0);
    const open = createRateLimiter({ perSecond: 0, now: () => 0 });
    for (let count = 0; count < 100; count += 1) expect(open.take('a')).toBe(0);
  });
});
