import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clockOf } from '../../../infra/testing/clock.ts';
import type { TrajectoryFinished } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { noMetrics } from '../../../streams/core/telemetry.ts';
import { JUDGE_PROMPT_SHA256 } from '../../../streams/reward/judge-prompt.ts';
import { statusOf, foldFinished, newAttempt } from '../../../streams/trajectory/attempt.ts';
import { finished } from '../../../infra/testing/rollout-events.ts';
import type { Judge, JudgeVerdict } from '../../judge/judge.ts';
import { judgedEnding, needsVerdict, notJudged, type JudgingDeps } from './judged-ending.ts';

const task = { question: 'Which city?', answers: ['Vienna', 'Wien'] };
const scored = { answer: 'Wien', status: 'answered', error: '', reward: 0.25, f1: 0.25, em: 0, cem: 0, format_ok: true };
const never = new Promise<never>(() => undefined);

function judgeOf(judge: Judge['judge']): Judge {
  return { name: 'judge-7b', judge };
}

const says = (verdict: JudgeVerdict['verdict'], fields: Partial<JudgeVerdict> = {}): Judge =>
  judgeOf(() => Promise.resolve({ verdict, reason: 'why', tries: 2, ...fields }));

const deps = (judge: Judge, fields: Partial<JudgingDeps> & { readonly share?: number } = {}): JudgingDeps => {
  const { share = 1, ...rest } = fields;
  return { by: { judge, share }, clock: clockOf(() => 7), metrics: noMetrics, ended: never, ...rest };
};

describe('the verdict of a judge in a reward', () => {
  it('has its share in the reward, and is recorded with its judge', async () => {
    const by = { servedAs: 'judge-7b-2026-01-01', version: 4 };
    expect(await judgedEnding(scored, task, deps(says('correct', { by }), { share: 0.5 }))).toEqual({
      ...{ ...scored, reward: 0.625, judge: 'judge-7b', verdict: 'correct', judge_reason: 'why', judge_tries: 2, judge_ms: 0 },
      ...{ judge_served: 'judge-7b-2026-01-01', judge_version: 4, judge_prompt_sha256: JUDGE_PROMPT_SHA256 },
    });
    expect(await judgedEnding(scored, task, deps(says('incorrect')))).toMatchObject({ reward: 0, status: 'answered', judge_version: -1 });
    expect(await judgedEnding(scored, task, deps(says('correct')))).toMatchObject({ reward: 1, status: 'answered', judge_served: '' });
  });

  it('moves the reward between the score and the verdict, for any share', async () => {
    const unit = fc.double({ min: 0, max: 1, noNaN: true });
    await fc.assert(
      fc.asyncProperty(unit, unit, fc.boolean(), async (score, share, correct) => {
        const judge = says(correct ? 'correct' : 'incorrect');
        const { reward } = await judgedEnding({ ...scored, reward: score }, task, deps(judge, { share }));
        const [least, most] = correct ? [score, 1] : [0, score];
        expect(reward).toBeGreaterThanOrEqual(least - 1e-12);
        expect(reward).toBeLessThanOrEqual(most + 1e-12);
        expect(reward).toBeCloseTo((1 - share) * score + (correct ? share : 0), 12);
      }),
    );
  });

  it('is requested with the question, the gold answers and the answer', async () => {
    const asked: unknown[] = [];
    const judge = judgeOf((judged) => {
      asked.push(judged);
      return Promise.resolve({ verdict: 'correct', reason: '', tries: 1 });
    });
    await judgedEnding(scored, task, deps(judge));
    expect(asked).toEqual([{ question: 'Which city?', golds: ['Vienna', 'Wien'], answer: 'Wien' }]);
  });

  it('is needed only for training answers whose reward it can change', () => {
    const train = { purpose: 'train' };
    expect(needsVerdict(scored, train)).toBe(true);
    expect(needsVerdict({ ...scored, reward: 0 }, train)).toBe(true);
    expect(needsVerdict({ ...scored, format_ok: false }, train)).toBe(false);
    expect(needsVerdict({ ...scored, reward: -0.5 }, train)).toBe(false);
    expect(needsVerdict({ ...scored, answer: ' \n' }, train)).toBe(false);
    expect(needsVerdict(scored, { purpose: 'eval' })).toBe(false);
  });
});

/** Whether a trainer would train on it. */
const counts = (ending: Partial<TrajectoryFinished>): string => {
  const attempt = newAttempt(0);
  foldFinished(attempt, finished({ trajectory: 'g0.0', sequence: 0 }, 0, { ...ending, completion_tokens: 0 }));
  return statusOf(attempt);
};

describe('an attempt without the verdict that it needs', () => {
  const failing = (code: 'MODEL_UNAVAILABLE' | 'MODEL_REFUSED') =>
    judgeOf(() => Promise.reject(new PlatformError(code, 'judging answers with judge-7b: away')));

  it.each([
    ['gives no readable one', says('invalid'), 'failed', 'judging the answer with judge-7b: no verdict in 2 tries', 'invalid'],
    ['does not reply', failing('MODEL_UNAVAILABLE'), 'failed', 'judging answers with judge-7b: away', ''],
    ['refuses', failing('MODEL_REFUSED'), 'refused', 'judging answers with judge-7b: away', ''],
  ] as const)('is unusable when the judge %s, whatever its score', async (...[, judge, status, error, verdict]) => {
    const ending = await judgedEnding(scored, task, deps(judge));
    expect(ending).toMatchObject({ status, error, verdict, reward: 0, answer: 'Wien', f1: 0.25, judge: 'judge-7b' });
    expect(counts(ending)).toBe('unusable');
    expect(counts({ ...scored, ...notJudged })).toBe('usable');
  });

  it.each([
    ['timeout', 'failed', 'judging the answer with judge-7b: no verdict in the time of the attempt'],
    ['cancelled', 'cancelled', 'judging the answer with judge-7b: the worker stopped'],
  ])('ends when its time is over or its worker stops (%s), and aborts the judge', async (how, status, error) => {
    const given: AbortSignal[] = [];
    const judge = judgeOf((_, signal) => {
      given.push(signal);
      return never;
    });
    const ended = Promise.resolve({ status: how, error: 'the worker stopped' });
    const ending = await judgedEnding(scored, task, deps(judge, { ended }));
    expect(ending).toMatchObject({ status, error, reward: 0, verdict: '' });
    expect(counts(ending)).toBe('unusable');
    expect(given[0]?.aborted).toBe(true);
  });

  it('ends at once when it has become useless', async () => {
    const useless = new AbortController();
    const judging = judgedEnding(
      scored,
      task,
      deps(
        judgeOf(() => never),
        { useless: useless.signal },
      ),
    );
    useless.abort();
    expect(await judging).toMatchObject({ status: 'cancelled', error: expect.stringContaining('newer version') as string });
    expect(
      await judgedEnding(
        scored,
        task,
        deps(
          judgeOf(() => never),
          { useless: useless.signal },
        ),
      ),
    ).toMatchObject({ status: 'cancelled' });
  });

  it('throws the error of a bug in the judge', async () => {
    await expect(judgedEnding(scored, task, deps(judgeOf(() => Promise.reject(new TypeError('oh')))))).rejects.toThrow('oh');
  });
});
