// Computes the figures of an evaluation from its recorded answers, as search-agent benchmarks report them. Scores are in 0..1. Pure; the
// order of the answers matters only for rounding.
import type { AnswerScored } from '../../schemas/generated/events.ts';
import { groupBy } from '../core/group-by.ts';

/** The scores of an answer. `judge` is 1 where the judge's verdict is correct. */
export type ScoreName = 'f1' | 'em' | 'cem' | 'judge';

/** An answer that took more turns than this counts as long-horizon. */
export const LONG_TURNS = 30;

export interface ScoreFigures {
  readonly questions: number;
  readonly answers: number;
  /** Mean over all answers: Avg@k with k answers per question. */
  readonly avg: Readonly<Record<ScoreName, number>>;
  /** 95 % interval of the mean, over questions. */
  readonly avgInterval: Readonly<Record<ScoreName, ScoreInterval>>;
  /** Mean over questions of the best answer: Pass@k. */
  readonly pass: Readonly<Record<ScoreName, number>>;
  readonly passInterval: Readonly<Record<ScoreName, ScoreInterval>>;
  /** Answers with a verdict, and how many of the verdicts are `invalid`. A missing answer is `incorrect`; the judge is not asked. */
  readonly judged: number;
  readonly judgeInvalid: number;
  /** Share of answers that the judge accepts as correct, or, without a judge, that match exactly. */
  readonly successRate: number;
  /** Answers of more than LONG_TURNS turns, and the share of them that succeed; 0 without any. */
  readonly longAnswers: number;
  readonly longSuccessRate: number;
  /** Attempts that ended without an answer. */
  readonly unanswered: number;
  readonly turns: Percentiles;
  readonly toolCalls: Percentiles;
  /** Tokens of all prompts of an answer, each counted in full. Older answers do not record these two figures and are left out of them. */
  readonly promptTokens: Percentiles;
  readonly generatedTokens: Percentiles;
  /** Prompt and generated tokens, over all answers. */
  readonly tokens: Percentiles;
}

/** Bounds within 0..1. */
export interface ScoreInterval {
  readonly low: number;
  readonly high: number;
}

export interface Percentiles {
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

const scoreOf = (answer: AnswerScored, name: ScoreName): number => (name === 'judge' ? Number(answer.verdict === 'correct') : answer[name]);

export const meanScore = (answers: readonly AnswerScored[], name: ScoreName): number =>
  mean(answers.map((answer) => scoreOf(answer, name)));

/** Best score among the answers to one question. */
export const bestScore = (own: readonly AnswerScored[], name: ScoreName): number => Math.max(...own.map((answer) => scoreOf(answer, name)));

/** Judged correct or, without a judge, an exact match. */
const isSuccess = (answer: AnswerScored): boolean => (answer.verdict === '' ? answer.em === 1 : answer.verdict === 'correct');

export const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/** The smallest value that is at least as large as a share `p` of the values; 0 without values. */
export function quantile(sorted: readonly number[], p: number): number {
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? 0;
}

export function spreadOf(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  return { mean: mean(sorted), p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95), max: sorted.at(-1) ?? 0 };
}

/** Two-sided 95 % quantile of the normal distribution. */
const Z = 1.959964;

/**
 * 95 % interval of a mean over questions by the central limit theorem, clamped to 0..1. Questions are the sampling unit: answers to one
 * question are not independent. With fewer than two questions the interval is 0..1.
 */
export function intervalOf(perQuestion: readonly number[]): ScoreInterval {
  const count = perQuestion.length;
  if (count < 2) return { low: 0, high: 1 };
  const middle = mean(perQuestion);
  const variance = perQuestion.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (count - 1);
  const half = Z * Math.sqrt(variance / count);
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

export type ScoredAnswers = readonly AnswerScored[];

/** Answers by question. */
export const byQuestion = (answers: ScoredAnswers): ReadonlyMap<string, ScoredAnswers> => groupBy(answers, ({ question_id: id }) => id);

/** Answers by content of the question, regardless of file or dataset name. Older entries do not record the content. */
export const byContent = (answers: ScoredAnswers): ReadonlyMap<string, ScoredAnswers> =>
  groupBy(answers, ({ content_id: content }) => content);

/** Answers by the level of their question, in order; none when no question has a level. */
export function byLevel(answers: ScoredAnswers): ReadonlyMap<string, ScoredAnswers> {
  if (answers.every(({ level }) => level === '')) return new Map();
  const levels = groupBy(answers, ({ level }) => level);
  return new Map([...levels].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })));
}

const forEach = <T>(value: (name: ScoreName) => T): Readonly<Record<ScoreName, T>> => ({
  f1: value('f1'),
  em: value('em'),
  cem: value('cem'),
  judge: value('judge'),
});

/** All figures; zeros without answers. */
export function figuresOf(answers: readonly AnswerScored[]): ScoreFigures {
  const questions = [...byQuestion(answers).values()];
  const long = answers.filter(({ turns }) => turns > LONG_TURNS);
  const judged = answers.filter(({ verdict }) => verdict !== '');
  const counted = answers.filter(({ generated_tokens: tokens }) => tokens >= 0);
  return {
    questions: questions.length,
    answers: answers.length,
    avg: forEach((name) => meanScore(answers, name)),
    avgInterval: forEach((name) => intervalOf(questions.map((own) => meanScore(own, name)))),
    pass: forEach((name) => mean(questions.map((own) => bestScore(own, name)))),
    passInterval: forEach((name) => intervalOf(questions.map((own) => bestScore(own, name)))),
    judged: judged.length,
    judgeInvalid: judged.filter(({ verdict }) => verdict === 'invalid').length,
    successRate: mean(answers.map((answer) => Number(isSuccess(answer)))),
    longAnswers: long.length,
    longSuccessRate: mean(long.map((answer) => Number(isSuccess(answer)))),
    unanswered: answers.filter(({ status }) => status !== 'answered').length,
    turns: spreadOf(answers.map(({ turns }) => turns)),
    toolCalls: spreadOf(answers.map(({ tool_calls: calls }) => calls)),
    promptTokens: spreadOf(counted.map(({ prompt_tokens: tokens }) => tokens)),
    generatedTokens: spreadOf(counted.map(({ generated_tokens: tokens }) => tokens)),
    tokens: spreadOf(answers.map(({ tokens }) => tokens)),
  };
}
