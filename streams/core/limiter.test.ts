import { describe, expect, it } from 'vitest';
import { createLimiter } from './limiter.ts';

describe('the limit', () => {
  const { signal } = new AbortController();
  it('lets in as many as allowed, in the order in which they came', async () => {
    const limiter = createLimiter(2);
    const entered: number[] = [];
    const leaves = [await limiter.enter(signal), await limiter.enter(signal)];
    const waiting = [0, 1, 2].map((which) =>
      limiter.enter(signal).then((leave) => {
        entered.push(which);
        leave?.();
      }),
    );
    expect([limiter.running(), limiter.waiting()]).toEqual([2, 3]);
    leaves[0]?.();
    leaves[0]?.();
    await Promise.all(waiting);
    expect([entered, limiter.running(), limiter.waiting()]).toEqual([[0, 1, 2], 1, 0]);
  });
  it('removes a waiter whose signal aborts', async () => {
    const limiter = createLimiter(1);
    const leave = await limiter.enter(signal);
    const gone = new AbortController();
    const entering = limiter.enter(gone.signal);
    gone.abort();
    expect(await entering).toBeUndefined();
    expect(await limiter.enter(gone.signal)).toBeUndefined();
    leave?.();
    expect([limiter.running(), limiter.waiting()]).toEqual([0, 0]);
  });
});
