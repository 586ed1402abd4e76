import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stalenessOf, summariseAges, type TokenAges } from './staleness.ts';

const span = fc.record({ version: fc.integer({ min: -3, max: 30 }), tokens: fc.integer({ min: -2, max: 500 }) });
const spans = fc.array(span, { maxLength: 40 });
const version = fc.integer({ min: 0, max: 25 });

describe('the staleness of a trajectory', () => {
  it('splits into an in-flight and an in-queue part', () => {
    const account = stalenessOf(
      [
        { version: 3, tokens: 10 },
        { version: 4, tokens: 20 },
        { version: 5, tokens: 10 },
      ],
      9,
    );
    expect(account).toEqual({
      versionFirst: 3,
      versionLast: 5,
      total: 6,
      inFlight: 2,
      inQueue: 4,
      worst: 6,
      best: 4,
      span: 3,
      tokenMean: 5,
      tokenP95: 6,
      tokenMax: 6,
      unknownTokens: 0,
    });
  });

  it('holds total = in_flight + in_queue, all parts within the total', () => {
    fc.assert(
      fc.property(spans, version, (list, v) => {
        const account = stalenessOf(list, v);
        expect(account.inFlight + account.inQueue).toBe(account.total);
        expect(account.inFlight).toBeGreaterThanOrEqual(0);
        expect(account.inQueue).toBeGreaterThanOrEqual(0);
        expect(account.worst).toBeGreaterThanOrEqual(account.best);
        expect(account.worst).toBeGreaterThanOrEqual(account.tokenMax);
        expect(account.tokenMax).toBeGreaterThanOrEqual(account.tokenP95);
        expect(account.tokenMean).toBeLessThanOrEqual(account.tokenMax);
      }),
    );
  });

  it('counts every token once: by its age, or as unknown', () => {
    fc.assert(
      fc.property(spans, version, (list, v) => {
        const ages: TokenAges = new Map();
        const { unknownTokens } = stalenessOf(list, v, ages);
        const known = [...ages.values()].reduce((sum, tokens) => sum + tokens, 0);
        expect(known + unknownTokens).toBe(list.reduce((sum, { tokens }) => sum + Math.max(0, tokens), 0));
      }),
    );
  });

  it('never counts a missing or a future version as staleness 0', () => {
    const account = stalenessOf(
      [
        { version: -1, tokens: 7 },
        { version: 8, tokens: 5 },
        { version: 2, tokens: 1 },
      ],
      4,
    );
    expect(account).toMatchObject({ unknownTokens: 12, total: 2, worst: 2, tokenMean: 2 });
    expect(stalenessOf([{ version: -1, tokens: 7 }], 4)).toMatchObject({ unknownTokens: 7, versionFirst: -1, span: 0 });
  });

  it('weights by tokens and finds the true maximum', () => {
    const ages: TokenAges = new Map([
      [0, 90],
      [1, 6],
      [7, 4],
    ]);
    expect(summariseAges(ages)).toEqual({ mean: 0.34, p95: 1, max: 7 });
    expect(summariseAges(new Map())).toEqual({ mean: 0, p95: 0, max: 0 });
  });

  it('ignores a token count that is not a number', () => {
    expect(stalenessOf([{ version: 1, tokens: Number.NaN }], 1)).toMatchObject({ tokenMean: 0, unknownTokens: 0 });
  });
});
