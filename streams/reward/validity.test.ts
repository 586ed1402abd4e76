import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trajectoryReward } from './score.ts';
import { askedAs, callsInvalid } from './validity.ts';

const gold = { answers: ['Vienna'], augAnswers: [], reward: 'f1' } as const;
const rewardOf = (answer: string | undefined, asked: 'valid' | 'open' | undefined, formatOk = true): number =>
  trajectoryReward({ answer, formatOk, ...(asked === undefined ? {} : { askedAs: asked }) }, gold).reward;

describe('an answer that calls the question invalid', () => {
  it.each([
    ['the question is invalid.', true],
    ['This is not appropriate', true],
    ['a valid point', true],
    ['invalidated', true],
    ['Vienna, no question', true],
    // case matters
    ['QUESTION INVALID', false],
    ['Vienna', false],
    ['', false],
  ])('is recognized by its substrings: %s', (answer, calls) => {
    expect(callsInvalid(answer)).toBe(calls);
    expect(rewardOf(answer, 'valid')).toBe(calls ? -0.5 : rewardOf(answer, undefined));
  });

  it('has the reward -0.5, right or wrong and in any format, if the question was asked as valid', () => {
    expect(rewardOf('Vienna, no question', 'valid')).toBe(-0.5);
    expect(rewardOf('the question is invalid.', 'valid', false)).toBe(-0.5);
    expect(rewardOf('Vienna', 'valid', false)).toBe(0);
    expect(rewardOf(undefined, 'valid')).toBe(0);
  });

  it('is scored like any other answer if the prompt allows it, and if the feature is off', () => {
    fc.assert(
      fc.property(fc.constantFrom('Vienna, no question', 'invalid', 'Vienna'), fc.boolean(), (answer, formatOk) => {
        expect(rewardOf(answer, 'open', formatOk)).toBe(rewardOf(answer, undefined, formatOk));
        expect(rewardOf(answer, 'open', formatOk)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('a group', () => {
  it('is always asked in the same way, and as valid in the given share of groups', () => {
    const groups = Array.from({ length: 4_000 }, (_, index) => `run-a-${index}`);
    for (const share of [0, 0.3, 1]) {
      const valid = groups.filter((group) => askedAs(group, share) === 'valid').length / groups.length;
      expect(Math.abs(valid - share)).toBeLessThan(0.03);
      expect(groups.map((group) => askedAs(group, share))).toEqual(groups.map((group) => askedAs(group, share)));
    }
    expect(groups.every((group) => askedAs(group, 0) === 'open' && askedAs(group, 1) === 'valid')).toBe(true);
    expect(askedAs('g', -1)).toBeUndefined();
  });
});
