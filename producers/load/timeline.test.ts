import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTimeline } from './timeline.ts';

it('returns items by time, and in insertion order when times are equal', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constant('take' as const))), (steps) => {
      const timeline = createTimeline<number>();
      const model: { at: number; what: number }[] = [];
      steps.forEach((step, what) => {
        if (step === 'take') {
          const first = model.reduce<number>((best, { at }, i) => (at < (model[best]?.at ?? Infinity) ? i : best), 0);
          expect(timeline.take()).toBe(model.splice(first, 1)[0]?.what);
        } else {
          timeline.add(step, what);
          model.push({ at: step, what });
        }
        expect(timeline.size).toBe(model.length);
      });
    }),
  );
});
