// Is one evaluation better than another? Questions that both answered are paired by content, and whole questions are resampled with
// replacement (a paired bootstrap), so that the difficulty of a question, shared by both, cancels out. Seeded: the same answers give the
// same intervals.
import { PlatformError } from '../core/errors.ts';
import { createRandom } from '../core/random.ts';
import { bestScore, byContent, byQuestion, mean, meanScore, quantile, type ScoredAnswers } from './figures.ts';

/** The compared figures: a mean or best score per question, or the cost of its answers. */
const comparedNames = [
  ...(['avg_f1', 'avg_em', 'avg_cem', 'avg_judge', 'pass_f1', 'pass_em', 'pass_cem', 'pass_judge'] as const),
  ...(['turns', 'tool_calls', 'prompt_tokens', 'generated_tokens', 'tokens'] as const),
] as const;
type ComparedName = (typeof comparedNames)[number];

export interface ScoreComparison {
  readonly name: ComparedName;
  readonly a: number;
  readonly b: number;
  /** b - a */
  readonly difference: number;
  /** Bounds of the difference, at the requested confidence. */
  readonly low: number;
  readonly high: number;
  /** Share of draws in which b is greater than a; ties count half. */
  readonly greater: number;
}

export interface EvaluationComparison {
  /** How questions are paired: by their words and gold answers, or by id when an older entry does not record the content. */
  readonly pairedBy: 'content' | 'question_id';
  /** Questions that both have. */
  readonly questions: number;
  readonly onlyA: number;
  readonly onlyB: number;
  /** Ids of questions that are not paired, as named in their own evaluation; only the first few. */
  readonly leftOutA: readonly string[];
  readonly leftOutB: readonly string[];
  readonly draws: number;
  readonly confidence: number;
  readonly figures: readonly ScoreComparison[];
}

export interface CompareOptions {
  readonly draws: number;
  /** E.g. 0.95 */
  readonly confidence: number;
  readonly seed: number;
}

const figures: Readonly<Record<ComparedName, (own: ScoredAnswers) => number>> = {
  avg_f1: (own) => meanScore(own, 'f1'),
  avg_em: (own) => meanScore(own, 'em'),
  avg_cem: (own) => meanScore(own, 'cem'),
  avg_judge: (own) => meanScore(own, 'judge'),
  pass_f1: (own) => bestScore(own, 'f1'),
  pass_em: (own) => bestScore(own, 'em'),
  pass_cem: (own) => bestScore(own, 'cem'),
  pass_judge: (own) => bestScore(own, 'judge'),
  turns: (own) => mean(own.map(({ turns }) => turns)),
  tool_calls: (own) => mean(own.map(({ tool_calls: calls }) => calls)),
  prompt_tokens: (own) => mean(own.map(({ prompt_tokens: tokens }) => tokens)),
  generated_tokens: (own) => mean(own.map(({ generated_tokens: tokens }) => tokens)),
  tokens: (own) => mean(own.map(({ tokens }) => tokens)),
};

const SHOWN_IDS = 5;

/**
 * Compares every figure. Compares judge figures only if both were judged, and prompt and generated tokens only if both record them. Throws
 * EVALUATIONS_UNRELATED when they have no question in common.
 */
export function compareEvaluations(a: ScoredAnswers, b: ScoredAnswers, options: CompareOptions): EvaluationComparison {
  const pairedBy = [...a, ...b].every(({ content_id: content }) => content !== '') ? 'content' : 'question_id';
  const [ofA, ofB] = pairedBy === 'content' ? [byContent(a), byContent(b)] : [byQuestion(a), byQuestion(b)];
  const both = [...ofA.keys()].filter((id) => ofB.has(id)).sort();
  if (both.length === 0) throw unrelated(ofA.size, ofB.size);
  const judged = [a, b].every((answers) => answers.some(({ verdict }) => verdict !== ''));
  const counted = [a, b].every((answers) => answers.every(({ generated_tokens: tokens }) => tokens >= 0));
  const names = comparedNames.filter((name) => (judged || !name.endsWith('judge')) && (counted || !name.endsWith('_tokens')));
  const valuesOf = (answers: ReadonlyMap<string, ScoredAnswers>, name: ComparedName): number[] =>
    both.map((id) => figures[name](answers.get(id) ?? []));
  return {
    pairedBy,
    questions: both.length,
    onlyA: ofA.size - both.length,
    onlyB: ofB.size - both.length,
    leftOutA: leftOut(ofA, ofB),
    leftOutB: leftOut(ofB, ofA),
    draws: options.draws,
    confidence: options.confidence,
    figures: names.map((name) => compareOne(name, { a: valuesOf(ofA, name), b: valuesOf(ofB, name) }, options)),
  };
}

const unrelated = (a: number, b: number): PlatformError =>
  new PlatformError(
    'EVALUATIONS_UNRELATED',
    `comparing two evaluations: they have no question in common (A answered ${a}, B answered ${b}); questions are paired by their words and gold answers`,
  );

const leftOut = (own: ReadonlyMap<string, ScoredAnswers>, other: ReadonlyMap<string, ScoredAnswers>): readonly string[] =>
  [...own]
    .flatMap(([key, answers]) => (other.has(key) ? [] : [answers[0]?.question_id ?? key]))
    .sort()
    .slice(0, SHOWN_IDS);

interface Paired {
  readonly a: readonly number[];
  readonly b: readonly number[];
}

function compareOne(name: ComparedName, { a, b }: Paired, { draws, confidence, seed }: CompareOptions): ScoreComparison {
  const differences = a.map((value, at) => (b[at] ?? 0) - value);
  const drawn = bootstrapMeans(differences, draws, createRandom(seed));
  const tail = (1 - confidence) / 2;
  return {
    ...{ name, a: mean(a), b: mean(b), difference: mean(differences) },
    low: quantile(drawn, tail),
    high: quantile(drawn, 1 - tail),
    greater: mean(drawn.map((value) => (value > 0 ? 1 : value === 0 ? 0.5 : 0))),
  };
}

/** Means of bootstrap samples of the original size, drawn with replacement; sorted. */
function bootstrapMeans(values: readonly number[], draws: number, random: () => number): readonly number[] {
  const count = values.length;
  if (count === 0) return [];
  const means = Array.from({ length: draws }, () => {
    let sum = 0;
    for (let drawn = 0; drawn < count; drawn += 1) sum += values[Math.floor(random() * count)] ?? 0;
    return sum / count;
  });
  return means.sort((left, right) => left - right);
}
