import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { OutcomesOfSteps } from './outcomes.fold.ts';
import { BiasTally } from './selection-bias.tally.ts';

const outcome = fc.record({
  reason: fc.constantFrom('', '', 'stale', 'expired'),
  reward: fc.constantFrom(0, 0.25, 1),
  turns: fc.nat(5),
  tokens: fc.nat(1_000),
});
type MadeOutcome = typeof outcome extends fc.Arbitrary<infer T> ? T : never;

const stepsOf = (outcomes: readonly MadeOutcome[]): OutcomesOfSteps => ({
  counts: outcomes.flatMap((one) =>
    (['reward', 'turns', 'tokens'] as const).map((figure) => ({
      ...{ figure, reason: one.reason, values: Float64Array.of(one[figure]), counts: Float64Array.of(1) },
    })),
  ),
  sums: outcomes.map(({ reason, turns, tokens }) => ({ reason, n: 1, staleness: turns, flight_ms: tokens })),
});

const figuresOf = (parts: readonly (readonly MadeOutcome[])[], reason?: string): ReturnType<BiasTally['figures']> => {
  const tally = new BiasTally(reason);
  for (const part of parts) tally.add(stepsOf(part));
  return tally.figures();
};

it('gives the same figures however the outcomes are split, and compares only discards with one reason if it is given', () => {
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 60 }), fc.nat(60), fc.nat(60), (outcomes, first, second) => {
      const whole = figuresOf([outcomes]);
      const [a, b] = [Math.min(first, second), Math.max(first, second)];
      expect(figuresOf([outcomes.slice(b), outcomes.slice(0, a), outcomes.slice(a, b)])).toEqual(whole);
      const kept = outcomes.filter(({ reason }) => reason === '');
      expect(whole.overall?.kept ?? 0).toBe(kept.length);
      expect(whole.overall?.discarded ?? 0).toBe(outcomes.length - kept.length);
      expect(figuresOf([outcomes], 'stale')).toEqual(figuresOf([outcomes.filter(({ reason }) => reason !== 'expired')]));
    }),
  );
});
