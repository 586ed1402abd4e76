import { describe, expect, it } from 'vitest';
import { createTestClock } from '../../infra/testing/clock.ts';
import { createBackoff, createWake, deferred } from './waiting.ts';

/** Records when each wait ends. */
function noting() {
  const clock = createTestClock();
  const wake = createWake(clock);
  const ended: number[] = [];
  const note = (waited: Promise<void>): Promise<void> =>
    waited.then(() => {
      ended.push(clock.now());
    });
  return { clock, wake, ended, note };
}

describe('a wake', () => {
  it('ends a wait at the time or when it is woken, whichever is first', async () => {
    const { clock, wake, ended, note } = noting();
    void note(wake.wait(100));
    await clock.advance(99);
    expect(ended).toEqual([]);
    await clock.advance(1);
    void note(wake.wait(100));
    await clock.advance(30);
    wake.now();
    await clock.advance(100);
    expect(ended).toEqual([100, 130]);
    expect(clock.sleepers()).toBe(0);
  });
  it('that came before a wait ends that wait at once, and no later one', async () => {
    const { clock, wake, ended, note } = noting();
    wake.now();
    wake.now();
    await note(wake.wait(100));
    void note(wake.wait(100));
    await clock.advance(100);
    expect(ended).toEqual([0, 100]);
  });
  it('that failed makes every later wait reject with the first failure', async () => {
    const { wake } = noting();
    wake.fail(new Error('first'));
    wake.fail(new Error('second'));
    await expect(wake.wait(100)).rejects.toThrow('first');
    await expect(wake.wait(0)).rejects.toThrow('first');
  });
  it('ends a sleep early only when the sleeper is no longer wanted', async () => {
    const { clock, wake, ended, note } = noting();
    let alive = true;
    void note(wake.sleep(150_000, () => alive));
    await clock.advance(70_000);
    wake.now();
    await clock.advance(10_000);
    expect(ended).toEqual([]);
    alive = false;
    wake.now();
    await clock.advance(0);
    expect(ended).toEqual([80_000]);
    alive = true;
    void note(wake.sleep(150_000, () => alive));
    await clock.advance(200_000);
    expect(ended).toEqual([80_000, 230_000]);
  });
});

describe('a backoff', () => {
  it('doubles up to its maximum, and starts small again', () => {
    const backoff = createBackoff({ firstMs: 100, maxMs: 500 });
    expect([1, 2, 3, 4, 5].map(() => backoff.next())).toEqual([100, 200, 400, 500, 500]);
    backoff.reset();
    expect(backoff.next()).toBe(100);
    for (let count = 0; count < 2_000; count += 1) backoff.next();
    expect(backoff.next()).toBe(500);
  });
});

describe('a deferred promise', () => {
  it('is settled from outside, and may be rejected while nobody waits', async () => {
    const [good, bad] = [deferred<number>(), deferred()];
    good.resolve(7);
    bad.reject(new Error('nobody waits'));
    expect(await good.promise).toBe(7);
    await expect(bad.promise).rejects.toThrow('nobody waits');
  });
});
