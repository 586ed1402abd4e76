import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTimeline } from './timeline.ts';

/** Changes of a partition between two polls: records are appended, or its newest ones are lost. */
const change = fc.record({ appended: fc.nat(5), lost: fc.nat(3), passedMs: fc.integer({ min: 1, max: 500 }), looked: fc.boolean() });

it('knows between which two polls each record was appended, even where earlier records were lost', () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 40 }), (changes) => {
      const timeline = createTimeline();
      const log: number[] = [];
      const looks: { sinceMs: number; atMs: number }[] = [];
      let [nowMs, sinceMs] = [0, 0];
      const look = (): void => {
        timeline.look('rollouts', 3, { sinceMs, atMs: nowMs, end: log.length });
        looks.push({ sinceMs, atMs: nowMs });
        sinceMs = nowMs;
      };
      look();
      for (const { appended, lost, passedMs, looked } of changes) {
        nowMs += passedMs;
        // a loss takes all brokers down, which is observed
        if (lost > 0) log.splice(Math.max(0, log.length - lost));
        if (lost > 0) look();
        for (let i = 0; i < appended; i += 1) log.push(nowMs);
        nowMs += passedMs;
        if (looked) look();
      }
      nowMs += 1;
      look();
      log.forEach((appendedMs, offset) => {
        const { fromMs, toMs } = timeline.appended({ topic: 'rollouts', partition: 3, offset });
        expect(fromMs).toBeLessThanOrEqual(appendedMs);
        expect(toMs).toBeGreaterThanOrEqual(appendedMs);
        // no wider than the interval between two polls
        expect(looks).toContainEqual({ sinceMs: fromMs, atMs: toMs });
      });
      expect(timeline.appended({ topic: 'rollouts', partition: 3, offset: log.length }).toMs).toBe(Infinity);
      expect(timeline.appended({ topic: 'training', partition: 3, offset: 0 })).toEqual({ fromMs: -Infinity, toMs: Infinity });
    }),
  );
});
