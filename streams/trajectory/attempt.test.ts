import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finished, started, turn } from '../../infra/testing/rollout-events.ts';
import type { VersionSpan } from '../staleness/staleness.ts';
import { decisionsOf, foldFinished, foldStarted, foldTurn, newAttempt, spansOf, statusOf, type Attempt } from './attempt.ts';

const trajectory = 'g1.0';
type Fold = (attempt: Attempt) => void;

/** The records of a complete attempt of `turns` turns; turn i is by version i. */
function records(turns: number, status = 'answered'): Fold[] {
  const place = (sequence: number) => ({ trajectory, sequence });
  return [
    (attempt) => {
      foldStarted(attempt, started(place(0)));
    },
    ...Array.from({ length: turns }, (_, i): Fold => (attempt) => {
      foldTurn(attempt, turn(place(i + 1), i));
    }),
    (attempt) => {
      foldFinished(attempt, finished(place(turns + 1), 0.5, { status }));
    },
  ];
}

const folded = (folds: readonly Fold[]): Attempt => {
  const attempt = newAttempt(0);
  for (const fold of folds) fold(attempt);
  return attempt;
};

const perToken = (spans: readonly VersionSpan[]): readonly number[] =>
  spans.flatMap(({ version, tokens }) => Array.from({ length: tokens }, () => version));

const endsOf = (spans: readonly VersionSpan[]) => [spans[0]?.version, spans.at(-1)?.version];

describe('the fold of an attempt', () => {
  it('is the same whatever the order and however often a record comes', () => {
    const delivery = fc.integer({ min: 0, max: 8 }).chain((turns) =>
      fc.tuple(
        fc.constant(turns),
        fc.array(fc.nat(turns + 1), { maxLength: 12 }),
        fc.shuffledSubarray(
          Array.from({ length: turns + 2 }, (_, i) => i),
          { minLength: turns + 2 },
        ),
      ),
    );
    fc.assert(
      fc.property(delivery, ([turns, repeats, order]) => {
        const all = records(turns);
        const straight = folded(all);
        const messy = folded([...repeats, ...order, ...repeats].flatMap((i) => all[i] ?? []));
        expect(statusOf(messy)).toBe('usable');
        expect(spansOf(messy)).toEqual(spansOf(straight));
        expect(decisionsOf(messy)).toEqual(decisionsOf(straight));
        expect([messy.tokens, messy.workerId]).toEqual([straight.tokens, 'w-0']);
      }),
    );
  });

  it('knows the version behind every token, in the order of the turns, whatever the order of the records', () => {
    const span = fc.record({ version: fc.integer({ min: -1, max: 2 }), tokens: fc.nat(3) });
    const turns = fc.array(fc.array(span, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 });
    const delivered = turns.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray([...all.keys(), ...all.keys()], { minLength: 2 * all.length })),
    );
    fc.assert(
      fc.property(delivered, ([all, order]) => {
        const attempt = newAttempt(0);
        for (const sequence of order) {
          const spans = all[sequence] ?? [];
          const tokens = spans.reduce((sum, one) => sum + one.tokens, 0);
          foldTurn(attempt, turn({ trajectory, sequence }, 0, { policy_spans: spans, completion_tokens: tokens }));
        }
        const kept = spansOf(attempt);
        expect(perToken(kept)).toEqual(perToken(all.flat()));
        expect(endsOf(kept)).toEqual(endsOf(all.flat()));
        for (let i = 1; i < kept.length; i += 1) expect(kept[i]?.version).not.toBe(kept[i - 1]?.version);
      }),
    );
  });

  it('is unusable with any hole, and usable once the hole is filled', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.nat(8), (turns, hole) => {
        const all = records(turns);
        const missing = hole % (turns + 1);
        const attempt = folded(all.filter((_, i) => i !== missing));
        expect(statusOf(attempt)).toBe('unusable');
        all[missing]?.(attempt);
        expect(statusOf(attempt)).toBe('usable');
      }),
    );
  });

  it('distinguishes running, usable and unusable attempts', () => {
    expect(statusOf(folded(records(2).slice(0, -1)))).toBe('running');
    for (const status of ['answered', 'max_turns', 'max_tokens', 'timeout']) expect(statusOf(folded(records(2, status)))).toBe('usable');
    for (const status of ['cancelled', 'failed', 'sideways']) expect(statusOf(folded(records(2, status)))).toBe('unusable');
    const attempt = folded(records(1).slice(0, 2));
    foldFinished(attempt, finished({ trajectory, sequence: 2 }, Number.NaN));
    expect(statusOf(attempt)).toBe('unusable');
  });

  it('is unusable when its end has another token count than its turns', () => {
    fc.assert(
      fc.property(fc.nat(6), fc.integer({ min: -30, max: 30 }), (turns, off) => {
        const attempt = folded(records(turns).slice(0, -1));
        foldFinished(attempt, finished({ trajectory, sequence: turns + 1 }, 0.5, { completion_tokens: 10 * turns + off }));
        expect(statusOf(attempt)).toBe(off === 0 ? 'usable' : 'unusable');
      }),
    );
  });

  it('counts tokens without a version as unknown, and no more tokens than the turn has', () => {
    const attempt = newAttempt(0);
    const at = (sequence: number) => ({ trajectory, sequence });
    foldTurn(attempt, turn(at(0), 3, { completion_tokens: 10, policy_spans: [{ version: 3, tokens: 4 }] }));
    foldTurn(attempt, turn(at(1), 3, { completion_tokens: 5, policy_spans: [] }));
    foldTurn(attempt, turn(at(2), 3, { completion_tokens: 5, policy_spans: [{ version: 4, tokens: 50 }] }));
    foldTurn(attempt, turn(at(3), 3, { completion_tokens: -5, policy_spans: [{ version: 4, tokens: -50 }] }));
    expect(spansOf(attempt)).toEqual([
      { version: 3, tokens: 4 },
      { version: -1, tokens: 11 },
      { version: 4, tokens: 5 },
    ]);
    expect(attempt.tokens).toBe(20);
  });

  it('copies decision bytes out of the buffer that they came in', () => {
    const event = turn({ trajectory, sequence: 0 }, 1);
    const attempt = newAttempt(0);
    foldTurn(attempt, event);
    event.decision?.features.fill(9);
    expect(decisionsOf(attempt)[0]?.decision.features.readFloatLE(0)).toBe(1);
  });

  it('counts no tokens below zero, and none of a span beyond those of its turn', () => {
    const attempt = newAttempt(0);
    const spans = (tokens: readonly number[]) => ({ policy_spans: tokens.map((count, version) => ({ version, tokens: count })) });
    foldTurn(attempt, { ...turn({ trajectory, sequence: 0 }, 0), completion_tokens: -5, ...spans([3]) });
    foldTurn(attempt, { ...turn({ trajectory, sequence: 1 }, 0), completion_tokens: 4, ...spans([3, -2, 9]) });
    foldTurn(attempt, { ...turn({ trajectory, sequence: 2 }, 0), completion_tokens: 4, policy_spans: [], decision: null });
    expect(attempt.tokens).toBe(8);
    expect(perToken(spansOf(attempt))).toEqual([0, 0, 0, 2, -1, -1, -1, -1]);
  });

  it('keeps the first end, and ignores repetitions', () => {
    const attempt = folded(records(1));
    const before = [attempt.ending, attempt.tokens, attempt.contiguous, spansOf(attempt), decisionsOf(attempt).length];
    for (const again of [...records(1), ...records(1, 'failed')]) again(attempt);
    foldFinished(attempt, finished({ trajectory, sequence: 9 }, 1));
    expect([attempt.ending, attempt.tokens, attempt.contiguous, spansOf(attempt), decisionsOf(attempt).length]).toEqual(before);
    const early = newAttempt(0);
    foldFinished(early, finished({ trajectory, sequence: -1 }, 1));
    foldStarted(early, started({ trajectory, sequence: 0 }));
    foldStarted(early, { ...started({ trajectory, sequence: 0 }), worker_id: 'w-9' });
    expect([early.ending, early.workerId]).toEqual([undefined, 'w-0']);
  });

  it('does not fail on invalid sequence numbers', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.integer(), fc.double()), { maxLength: 30 }), (sequences) => {
        const attempt = newAttempt(0);
        for (const sequence of sequences) foldTurn(attempt, turn({ trajectory, sequence }, 0));
        expect(statusOf(attempt)).toBe('running');
      }),
    );
  });
});
