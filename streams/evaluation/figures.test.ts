import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerScored } from '../../schemas/generated/events.ts';
import { compareEvaluations } from './compare.ts';
import { byLevel, figuresOf, intervalOf, mean, quantile, spreadOf } from './figures.ts';

const answer = (question: string, fields: Partial<AnswerScored> = {}): AnswerScored => ({
  ...{
    event_id: 'e',
    run_id: 'r',
    occurred_at: 0,
    producer: 'p',
    evaluation_id: 'v',
    trajectory_id: `${question}.0`,
    sample: 0,
    attempt: 0,
  },
  ...{ question_id: question, answer: 'a', status: 'answered', reward: 0, f1: 0, em: 0, cem: 0, turns: 2, tool_calls: 1, tokens: 10 },
  ...{ judge: '', verdict: '', judge_reason: '', judge_tries: 0, prompt_tokens: 8, generated_tokens: 2 },
  ...{ content_id: '', level: '', task_id: '', attachment: '' },
  ...fields,
});

describe('figures', () => {
  it('are means over all answers, and means of the best answer per question', () => {
    const found = figuresOf([
      answer('a', { f1: 1, em: 1, cem: 1, turns: 31 }),
      answer('a', { f1: 0.5, turns: 1, status: 'max_turns' }),
      answer('b', { f1: 0.5, verdict: 'correct', turns: 40 }),
      answer('b', { verdict: 'invalid', turns: 50, tokens: 100, tool_calls: 9 }),
    ]);
    expect(found).toMatchObject({
      ...{ questions: 2, answers: 4, judged: 2, judgeInvalid: 1, unanswered: 1 },
      avg: { f1: 0.5, em: 0.25, cem: 0.25, judge: 0.25 },
      pass: { f1: 0.75, em: 0.5, cem: 0.5, judge: 0.5 },
      ...{ successRate: 0.5, longAnswers: 3, longSuccessRate: 2 / 3 },
      turns: { mean: 30.5, p50: 31, p95: 50, max: 50 },
      toolCalls: { mean: 3, max: 9 },
      tokens: { mean: 32.5, p50: 10, max: 100 },
    });
  });

  it('separate prompt tokens from generated tokens, and leave out entries without them', () => {
    const old = { prompt_tokens: -1, generated_tokens: -1 };
    const { promptTokens, generatedTokens } = figuresOf([answer('a', { prompt_tokens: 900, generated_tokens: 30 }), answer('b', old)]);
    expect([promptTokens.mean, promptTokens.max, generatedTokens.mean]).toEqual([900, 900, 30]);
    expect(figuresOf([answer('b', old)]).generatedTokens).toEqual({ mean: 0, p50: 0, p95: 0, max: 0 });
  });

  it('are broken down by level, in order, if the benchmark has levels', () => {
    const levels = byLevel(['10', '2', '', '2'].map((level, at) => answer(`q${at}`, { level })));
    expect([...levels].map(([level, own]) => [level, own.length])).toEqual([['', 1], ['2', 2], ['10', 1]]); // prettier-ignore
    expect(byLevel([answer('a')])).toEqual(new Map());
  });

  it('have the theoretical interval of a mean over questions, for any number of answers per question', () => {
    const questions = Array.from({ length: 100 }, (_, index) => index % 2);
    const once = questions.map((f1, index) => answer(`q${index}`, { f1 }));
    const { low, high } = figuresOf(once).avgInterval.f1;
    expect(low).toBeCloseTo(0.5 - 1.96 * Math.sqrt(0.25 / 99), 4);
    expect(high).toBeCloseTo(0.5 + 1.96 * Math.sqrt(0.25 / 99), 4);
    // the same answer four times adds no information
    expect(figuresOf([...once, ...once, ...once, ...once]).avgInterval.f1).toEqual({ low, high });
    expect(intervalOf([0.5])).toEqual({ low: 0, high: 1 });
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2 }), (values) => {
        const found = intervalOf(values);
        expect(found.low >= 0 && found.high <= 1 && found.low <= mean(values) + 1e-12 && found.high >= mean(values) - 1e-12).toBe(true);
      }),
    );
  });

  it('are zeros without answers', () => {
    expect(figuresOf([])).toMatchObject({ questions: 0, avg: { f1: 0 }, pass: { f1: 0 }, successRate: 0, turns: { mean: 0, max: 0 } });
    expect(quantile([], 0.5)).toBe(0);
  });

  it('lie within the range of the values', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1 }), (values) => {
        const { mean, p50, p95, max } = spreadOf(values);
        const least = Math.min(...values);
        expect(max).toBe(Math.max(...values));
        for (const value of [mean, p50, p95]) expect(value >= least && value <= max).toBe(true);
        expect(p50).toBeLessThanOrEqual(p95);
        expect(values).toContain(p95);
      }),
    );
  });
});

const options = { draws: 2_000, confidence: 0.95, seed: 1 };

describe('a comparison', () => {
  const many = (f1: (index: number) => number): AnswerScored[] =>
    Array.from({ length: 60 }, (_, index) => answer(`q${index}`, { f1: f1(index), turns: index }));

  it('detects a small difference that all questions have in common', () => {
    const a = many((index) => index / 100);
    const b = many((index) => index / 100 + 0.05);
    const found = compareEvaluations(a, b, options);
    expect(found).toMatchObject({ questions: 60, onlyA: 0, onlyB: 0 });
    const f1 = found.figures.find(({ name }) => name === 'avg_f1');
    expect(f1?.difference).toBeCloseTo(0.05);
    expect(f1?.low).toBeGreaterThan(0.049);
    expect(f1?.greater).toBe(1);
    expect(found.figures.find(({ name }) => name === 'turns')).toMatchObject({ difference: 0, low: 0, high: 0, greater: 0.5 });
  });

  it('is refused if the evaluations have no question in common', () => {
    const [a, b] = [[answer('q1', {})], [answer('q2', {}), answer('q3', {})]];
    for (const [one, other] of [
      [a, b],
      [a, []],
      [[], []],
    ] as const)
      // prettier-ignore
      expect(() => compareEvaluations(one, other, options)).toThrow(expect.objectContaining({ code: 'EVALUATIONS_UNRELATED' }) as Error);
    expect(() => compareEvaluations(a, b, options)).toThrow('A answered 1, B answered 2');
  });

  it('pairs questions by content, independent of file names', () => {
    const a = [answer('frames-1', { content_id: 'x', f1: 1 }), answer('frames-2', { content_id: 'y' })];
    const b = [answer('renamed-1', { content_id: 'x' }), answer('renamed-9', { content_id: 'z' })];
    expect(compareEvaluations(a, b, options)).toMatchObject({
      ...{ pairedBy: 'content', questions: 1, onlyA: 1, onlyB: 1, leftOutA: ['frames-2'], leftOutB: ['renamed-9'] },
    });
    const older = [answer('frames-1'), answer('frames-3')];
    expect(compareEvaluations(a, older, options)).toMatchObject({ pairedBy: 'question_id', questions: 1, leftOutA: ['frames-2'] });
  });

  it('compares prompt and generated tokens only if both record them, and the judge only if both were judged', () => {
    const names = (b: AnswerScored) => compareEvaluations([answer('q')], [b], options).figures.map(({ name }) => name);
    expect(names(answer('q'))).toEqual(expect.arrayContaining(['prompt_tokens', 'generated_tokens']));
    expect(names(answer('q', { generated_tokens: -1 }))).not.toContain('generated_tokens');
    expect(names(answer('q')).some((name) => name.endsWith('judge'))).toBe(false);
    const judged = [answer('q1', { verdict: 'correct' })];
    const all = compareEvaluations(judged, judged, options).figures.map(({ name }) => name);
    expect(all).toEqual(expect.arrayContaining(['avg_judge', 'pass_judge']));
  });

  it('has an interval around zero for a difference by chance', () => {
    const a = many((index) => index % 2);
    const b = many((index) => (index % 4 === 0 ? 1 - (index % 2) : index % 8 === 1 ? 0 : index % 2));
    const f1 = compareEvaluations(a, b, options).figures.find(({ name }) => name === 'avg_f1');
    const flat = compareEvaluations(
      a,
      many((index) => (index + (index < 30 ? 1 : 0)) % 2),
      options,
    ).figures[0];
    expect(f1 !== undefined && f1.low <= f1.difference && f1.difference <= f1.high).toBe(true);
    expect(flat !== undefined && flat.low < 0 && flat.high > 0).toBe(true);
  });

  it('has approximately the theoretical interval of the mean', () => {
    const differences = Array.from({ length: 400 }, (_, index) => (index % 5) - 2);
    const a = differences.map((_, index) => answer(`q${index}`, { tokens: 0 }));
    const b = differences.map((difference, index) => answer(`q${index}`, { tokens: difference }));
    const found = compareEvaluations(a, b, { ...options, draws: 10_000 }).figures.find(({ name }) => name === 'tokens');
    const expected = (1.96 * Math.sqrt(2)) / 20;
    expect(Math.abs((found?.high ?? 0) - expected)).toBeLessThan(0.01);
    expect(Math.abs((found?.low ?? 0) + expected)).toBeLessThan(0.01);
  });

  it('pairs questions, counts those that only one has, and compares judges only if both have one', () => {
    const a = [answer('x', { verdict: 'correct' }), answer('only-a')];
    const b = [answer('x', { verdict: 'incorrect' }), answer('only-b'), answer('only-b2')];
    const found = compareEvaluations(a, b, options);
    expect(found).toMatchObject({ questions: 1, onlyA: 1, onlyB: 2 });
    expect(found.figures.find(({ name }) => name === 'avg_judge')).toMatchObject({ a: 1, b: 0, difference: -1, greater: 0 });
    expect(compareEvaluations(a, [answer('x')], options).figures.some(({ name }) => name.endsWith('judge'))).toBe(false);
  });

  it('is the same for the same seed, and reversed when the two are swapped', () => {
    const score = fc.record({ question: fc.integer({ min: 0, max: 9 }), f1: fc.double({ min: 0, max: 1, noNaN: true }) });
    const answers = fc.array(score.map(({ question, f1 }) => answer(`q${question}`, { f1 })));
    fc.assert(
      fc.property(answers, answers, (some, others) => {
        const [a, b] = [
          [answer('q0'), ...some],
          [answer('q0'), ...others],
        ];
        const few = { ...options, draws: 100 };
        const forth = compareEvaluations(a, b, few);
        expect(compareEvaluations(a, b, few)).toEqual(forth);
        expect(compareEvaluations(b, a, few).figures[0]?.difference).toBeCloseTo(-(forth.figures[0]?.difference ?? 0));
      }),
      { numRuns: 30 },
    );
  });
});
