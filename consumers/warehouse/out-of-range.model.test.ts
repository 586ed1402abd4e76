import fc from 'fast-check';
import { describe, it } from 'vitest';
import { GROUP, OutOfRangeWorld, setUpOutOfRange } from './out-of-range.testing.ts';

setUpOutOfRange();

describe('any order of lost offsets, cut tails and broken inserts', () => {
  it('leaves every record of the log in the tables once', async () => {
    const step = fc.record({
      events: fc.integer({ min: 1, max: 40 }),
      cut: fc.nat({ max: 12 }),
      refill: fc.nat({ max: 30 }),
      forget: fc.boolean(),
      tear: fc.boolean(),
      drain: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const world = new OutOfRangeWorld();
        for (const [seed, { events, cut, refill, forget, tear, drain }] of steps.entries()) {
          let torn = !tear;
          world.store.tears = () => !torn && (torn = true);
          await world.append(events, seed);
          await world.begin(3 + seed);
          if (drain) await world.drained();
          await world.stop();
          const end = await world.end(1);
          world.log.cutTail('rollouts', 1, Math.max(0, end - cut));
          if (refill > 0) await world.append(refill, seed + 100);
          if (forget) world.log.forgetOffsets(GROUP);
          await world.mend();
        }
        await world.begin();
        await world.drained();
        world.expectExactlyOnce();
        await world.stop();
      }),
      { numRuns: 12 },
    );
  }, 120_000);
});
