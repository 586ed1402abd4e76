import { describe, expect, it } from 'vitest';
import type { Decisions } from './decisions.ts';
import { behaviourAccount, klEstimate, logRatio, lossOf, proximalTerm } from './losses.ts';

const decisionsOf = (rows: readonly { candidates: number; chosen: number; logprob: number; signal: number }[]): Decisions => {
  let at = 0;
  return {
    width: 1,
    features: new Float32Array(rows.reduce((sum, row) => sum + row.candidates, 0)),
    starts: Int32Array.from([0, ...rows.map((row) => (at += row.candidates))]),
    chosen: Int32Array.from(rows, (row) => row.chosen),
    logprobs: Float64Array.from(rows, (row) => row.logprob),
    signals: Float64Array.from(rows, (row) => row.signal),
  };
};
const options = { clip: 0.4, behaveCap: 5 };
const half = Math.log(0.5);

describe('proximalTerm', () => {
  const one = (signal: number, logprob = half): Decisions => decisionsOf([{ candidates: 2, chosen: 0, logprob, signal }]);
  const ratio = (value: number): number => half + Math.log(value);

  it('is the advantage times the ratio while the ratio is within 1 ± clip', () => {
    const { term, counts } = proximalTerm(one(2), Float64Array.of(half), options);
    expect(term(0, ratio(1.2)).loss).toBeCloseTo(-2.4, 10);
    expect(term(0, ratio(1.2)).slope).toBeCloseTo(-2.4, 10);
    expect(counts.clipped).toBe(0);
  });

  it('takes the more pessimistic of the clipped and the unclipped term outside 1 ± clip', () => {
    const gain = proximalTerm(one(2), Float64Array.of(half), options);
    expect(gain.term(0, ratio(1.8))).toEqual({ loss: -2 * 1.4, slope: 0 });
    expect(gain.term(0, ratio(0.2)).slope).toBeCloseTo(-0.4, 10);
    expect(gain.counts.clipped).toBe(1);
    const harm = proximalTerm(one(-2), Float64Array.of(half), options);
    expect(harm.term(0, ratio(0.2))).toEqual({ loss: 2 * 0.6, slope: 0 });
    expect(harm.term(0, ratio(1.8)).slope).toBeCloseTo(3.6, 10);
    expect(harm.counts.clipped).toBe(1);
  });

  it('weights by the ratio of the proximal to the behavior policy, and drops decisions with a weight over the cap', () => {
    const weighted = proximalTerm(one(1, Math.log(0.25)), Float64Array.of(half), options);
    expect(weighted.term(0, half).loss).toBeCloseTo(-2, 10);
    const capped = proximalTerm(one(1, Math.log(0.01)), Float64Array.of(half), options);
    expect(capped.term(0, half)).toEqual({ loss: 0, slope: 0 });
    const impossible = proximalTerm(one(1, -Infinity), Float64Array.of(half), options);
    expect(impossible.term(0, half)).toEqual({ loss: 0, slope: 0 });
  });
});

describe('lossOf', () => {
  it('divides by all decisions, including those that do not contribute', () => {
    const decisions = decisionsOf([
      { candidates: 2, chosen: 0, logprob: half, signal: 1 },
      { candidates: 2, chosen: 1, logprob: Math.log(0.001), signal: 1 },
    ]);
    const { term } = proximalTerm(decisions, Float64Array.of(half, half), options);
    const result = lossOf(new Float32Array(4), decisions, { term, entropyBonus: 0 });
    expect(result.loss).toBeCloseTo(-0.5, 10);
    expect([...result.gradient]).toEqual([-0.25, 0.25, 0, 0]);
    expect(result.entropy).toBeCloseTo(Math.log(2), 10);
    expect(result.logprobs[1]).toBeCloseTo(half, 10);
  });

  it('ignores decisions whose logits are not numbers', () => {
    const decisions = decisionsOf([
      { candidates: 2, chosen: 0, logprob: half, signal: 1 },
      { candidates: 1, chosen: 0, logprob: 0, signal: 1 },
    ]);
    const term = (): { loss: number; slope: number } => ({ loss: 1, slope: 1 });
    const result = lossOf(Float32Array.of(NaN, 0, 3), decisions, { term, entropyBonus: 0 });
    expect(result.loss).toBe(0.5);
    expect([...result.gradient]).toEqual([0, 0, 0]);
    expect(result.logprobs[0]).toBe(-Infinity);
  });

  it('rewards entropy', () => {
    const decisions = decisionsOf([{ candidates: 2, chosen: 0, logprob: half, signal: 0 }]);
    const none = (): { loss: number; slope: number } => ({ loss: 0, slope: 0 });
    const result = lossOf(Float32Array.of(2, 0), decisions, { term: none, entropyBonus: 1 });
    expect(result.loss).toBeCloseTo(-result.entropy, 10);
    expect(result.gradient[0]).toBeGreaterThan(0);
    expect(result.gradient[0]).toBeCloseTo(-(result.gradient[1] ?? 0), 6);
  });
});

describe('the comparison with the behavior policy', () => {
  it('has the number of decisions as effective sample size when both policies agree', () => {
    const decisions = decisionsOf([1, 2, 3].map(() => ({ candidates: 2, chosen: 0, logprob: half, signal: 0 })));
    expect(behaviourAccount(decisions, Float64Array.of(half, half, half), 5)).toEqual({ behave_kl: 0, capped_fraction: 0, ess: 3 });
  });

  it('has a smaller effective sample size when the weights differ, and the share of weights over the cap', () => {
    const decisions = decisionsOf([half, Math.log(0.05)].map((logprob) => ({ candidates: 2, chosen: 0, logprob, signal: 0 })));
    const account = behaviourAccount(decisions, Float64Array.of(half, half), 5);
    expect(account.ess).toBeCloseTo((1 + 10) ** 2 / (1 + 100), 10);
    expect(account.capped_fraction).toBe(0.5);
    expect(account.behave_kl).toBeCloseTo((10 - 1 - Math.log(10)) / 2, 10);
  });

  it('is zero without decisions', () => {
    expect(behaviourAccount(decisionsOf([]), new Float64Array(0), 5)).toEqual({ behave_kl: 0, capped_fraction: 0, ess: 0 });
    expect(klEstimate(new Float64Array(0), new Float64Array(0))).toBe(0);
  });

  it('clamps log-ratios', () => {
    expect(logRatio(0, -Infinity)).toBe(20);
    expect(logRatio(-Infinity, 0)).toBe(-20);
    expect(logRatio(-Infinity, -Infinity)).toBe(0);
    expect(logRatio(-1, -2)).toBe(1);
  });
});
