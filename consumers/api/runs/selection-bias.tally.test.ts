import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BiasTally, type OutcomeSums, type ValueCount } from './selection-bias.tally.ts';

const outcome = fc.record({
  reason: fc.constantFrom('', '', 'stale', 'expired'),
  reward: fc.constantFrom(0, 0.25, 1),
  turns: fc.nat(5),
  tokens: fc.nat(1_000),
});
type MadeOutcome = typeof outcome extends fc.Arbitrary<infer T> ? T : never;

const countsOf = (outcomes: readonly MadeOutcome[]): readonly ValueCount[] =>
  outcomes.flatMap((one) =>
    (['reward', 'turns', 'tokens'] as const).map((metric) => ({ metric, value: one[metric], reason: one.reason, n: 1 })),
  );
const sumsOf = (outcomes: readonly MadeOutcome[]): readonly OutcomeSums[] =>
  outcomes.map(({ reason, turns, tokens }) => ({ reason, n: 1, staleness: turns, flight_ms: tokens }));

it('gives the same figures however the outcomes are split, and does not keep those that are only looked at', () => {
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 60 }), fc.nat(60), fc.nat(60), (outcomes, first, second) => {
      const whole = new BiasTally().figuresWith(countsOf(outcomes), sumsOf(outcomes));
      const [a, b] = [Math.min(first, second), Math.max(first, second)];
      const tally = new BiasTally();
      tally.add(countsOf(outcomes.slice(0, a)), sumsOf(outcomes.slice(0, a)));
      tally.figuresWith(countsOf(outcomes.slice(a)), sumsOf(outcomes.slice(a)));
      tally.add(countsOf(outcomes.slice(a, b)), sumsOf(outcomes.slice(a, b)));
      expect(tally.figuresWith(countsOf(outcomes.slice(b)), sumsOf(outcomes.slice(b)))).toEqual(whole);
      const kept = outcomes.filter(({ reason }) => reason === '');
      expect(whole.overall?.kept ?? 0).toBe(kept.length);
      expect(whole.overall?.discarded ?? 0).toBe(outcomes.length - kept.length);
    }),
  );
});
