import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import type { TurnRecorded } from '../../../schemas/generated/events.ts';
import { randomEvent, seeded } from '../../../infra/testing/events.ts';
import { cutUtf8, fitFinished, fitTurn, RECORD_LIMIT_BYTES, turnBytes, waterLevel } from './fit-record.ts';

const codec = createCodec();
const LIMIT = 4_000;

const long = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 200 }).map((text) => text.repeat(40)),
  fc.constant('"\n\u0001'.repeat(3_000)),
  fc.constant('\ud800'.repeat(2_000)),
);

const turns: fc.Arbitrary<TurnRecorded> = fc
  .record({
    seed: fc.nat(),
    text: long,
    result: long,
    query: long,
    broken: fc.boolean(),
    slug: long,
    items: fc.array(fc.record({ url: long, title: long }), { maxLength: 12 }),
    tokens: fc.oneof(fc.nat(5), fc.constant(3_000)),
    calls: fc.array(fc.record({ result: long, query: long, broken: fc.boolean() }), { maxLength: 60 }),
    features: fc.oneof(fc.constant(undefined), fc.nat(400), fc.constant(20_000)),
  })
  .map((parts) => ({
    ...randomEvent('TurnRecorded', seeded(parts.seed)),
    text: parts.text,
    result: parts.result,
    result_chars: parts.result.length,
    arguments: parts.broken ? parts.query : JSON.stringify({ query: parts.query, depth: 2 }),
    error_type: parts.slug,
    finish_reason: parts.slug,
    call_id: parts.slug,
    items: parts.items,
    truncated: false,
    token_ids: Array.from({ length: parts.tokens }, (_, index) => index * 1_000_003),
    logprobs: Array.from({ length: parts.tokens }, () => -0.5),
    prompt_ids: Array.from({ length: parts.tokens }, (_, index) => index),
    images: [],
    extras: [],
    more_calls: parts.calls.map(({ result, query, broken }) => ({
      ...{ tool: 'search', call_id: 'c', arguments: broken ? query : JSON.stringify({ query }), status: 'ok', error_type: '' },
      ...{ started_at: 0, latency_ms: 1, result, result_chars: result.length, result_sha256: '' },
    })),
    decision:
      parts.features === undefined
        ? null
        : { features: Buffer.alloc(parts.features), candidates: 1, width: 1, chosen: 0, logprob: 0, entropy: 0 },
  }));

describe('fitTurn', () => {
  it('always fits, keeps identities, true length and hash, and marks what it cut', () => {
    fc.assert(
      fc.property(turns, (turn) => {
        const fitted = fitTurn(turn, LIMIT);
        expect(codec.encode('TurnRecorded', fitted).length).toBeLessThanOrEqual(LIMIT);
        expect(turnBytes(fitted)).toBeLessThanOrEqual(LIMIT);
        const { text, result, arguments: json, items, truncated, decision, more_calls: calls, ...others } = fitted;
        const { text: text0, result: result0, arguments: json0, items: items0, truncated: truncated0, decision: decision0, more_calls: calls0, ...others0 } = turn; // prettier-ignore
        const { token_ids, logprobs, prompt_ids, loss_mask, token_ends, ...rest } = others;
        const { token_ids: ids0, logprobs: logprobs0, prompt_ids: prompt0, loss_mask: mask0, token_ends: ends0, ...rest0 } = others0;
        const slugless = { error_type: '', finish_reason: '', call_id: '' };
        expect({ ...rest, ...slugless }).toEqual({ ...rest0, ...slugless });
        const same = [text === text0, result === result0, json === json0, items.length === items0.length];
        const tokens = [
          [token_ids, ids0],
          [logprobs, logprobs0],
          [prompt_ids, prompt0],
          [loss_mask, mask0],
          [token_ends, ends0],
        ] as const;
        const whole = tokens.map(([of, given]) => of.length === given.length);
        expect(whole.every(Boolean) || tokens.every(([of]) => of.length === 0), 'token lists give way together').toBe(true);
        const kept = [...whole, (decision === null) === (decision0 === null), calls.length === calls0.length];
        calls.forEach(({ arguments: _, result: part, ...call }, at) => {
          const { arguments: _all, result: all, ...call0 } = calls0[at]!;
          expect(call).toEqual(call0);
          expect(truncated || part === all).toBe(true);
        });
        expect(truncated || truncated0 || [...same, ...kept].every(Boolean)).toBe(true);
        expect(items).toEqual(items0.slice(0, items.length));
      }),
    );
  });

  it('does not change a record that fits', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const turn = randomEvent('TurnRecorded', seeded(seed));
        expect(fitTurn(turn)).toEqual(turn);
      }),
    );
  });

  it('cuts the longest text and leaves the short ones whole', () => {
    const turn = { ...randomEvent('TurnRecorded', seeded(1)), text: 'short', result: 'x'.repeat(2_000_000), truncated: false };
    const fitted = fitTurn({ ...turn, arguments: '{"query":"capital of Bern"}' });
    expect(fitted).toMatchObject({ text: 'short', arguments: '{"query":"capital of Bern"}', truncated: true });
    expect(fitted.result.length).toBeGreaterThan(RECORD_LIMIT_BYTES * 0.9);
    expect(codec.encode('TurnRecorded', fitted).length).toBeLessThanOrEqual(RECORD_LIMIT_BYTES);
  });

  it('keeps arguments readable as JSON', () => {
    const turn = randomEvent('TurnRecorded', seeded(2));
    const fitted = fitTurn({ ...turn, arguments: JSON.stringify({ query: 'q"'.repeat(10_000) }) }, LIMIT);
    expect((JSON.parse(fitted.arguments) as { query: string }).query).toMatch(/^(q")+q?$/);
    expect(fitTurn({ ...turn, arguments: `["${'x'.repeat(9_000)}"]` }, LIMIT).arguments).toBe('{}');
  });
});

describe('fitFinished', () => {
  it('always fits', () => {
    fc.assert(
      fc.property(fc.nat(), fc.tuple(long, long, long), (seed, [question, answer, error]) => {
        const finished = { ...randomEvent('TrajectoryFinished', seeded(seed)), question, answer, error };
        const fitted = fitFinished(finished, LIMIT);
        expect(codec.encode('TrajectoryFinished', fitted).length).toBeLessThanOrEqual(LIMIT);
        expect({ ...fitted, question, answer, error }).toEqual(finished);
      }),
    );
  });
});

describe('cutUtf8', () => {
  it('gives a prefix that is valid and within the limit', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(60), (text, bytes) => {
        const cut = cutUtf8(text, bytes);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytes);
        expect(text.startsWith(cut)).toBe(true);
      }),
    );
  });
});

describe('waterLevel', () => {
  it('uses the budget and never exceeds it', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(10_000), { minLength: 1 }), fc.nat(50_000), (sizes, budget) => {
        const level = waterLevel(sizes, budget);
        const sum = (at: number): number => sizes.reduce((total, size) => total + Math.min(size, at), 0);
        expect(sum(level)).toBeLessThanOrEqual(budget);
        if (level !== Number.MAX_SAFE_INTEGER) expect(sum(level + 1)).toBeGreaterThan(budget - sizes.length);
      }),
    );
  });
});
