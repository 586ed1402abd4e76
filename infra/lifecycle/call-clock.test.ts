import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCallClock } from './call-clock.ts';

describe('where the time of a call goes', () => {
  it('is the sum of the queue, the failed tries with the waits after them, and the last try', async () => {
    const span = fc.nat(1_000);
    const tries = fc.array(fc.record({ queue: span, pause: span, takes: span, fails: fc.boolean() }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(tries, async (all) => {
        let now = 0;
        const clock = createCallClock(() => now);
        const pass = async (ms: number): Promise<void> => void (now += ms);
        for (const [at, { queue, pause, takes, fails }] of all.entries()) {
          if (at > 0) await pass(pause);
          await clock.queued(pass(0).then(() => pass(queue)));
          await clock
            .tried(async () => {
              await pass(takes);
              if (fails) throw new Error('failed');
            })
            .catch(() => undefined);
        }
        const timing = clock.timing();
        expect(timing.retries).toBe(all.length - 1);
        expect(timing.queueMs).toBe(all.reduce((sum, { queue }) => sum + queue, 0));
        expect(timing.serverMs).toBe(all.at(-1)?.takes);
        expect(timing.queueMs + timing.retryMs + timing.serverMs).toBe(now);
      }),
    );
  });
  it('is 0 before the first try', () => {
    expect(createCallClock().timing()).toEqual({ queueMs: 0, retries: 0, retryMs: 0, serverMs: 0 });
  });
});
