import { chineseTokens, containsChinese, mapBoolean, normalizeAnswer, normalizeText, strip, words } from './normalise.ts';
import { CALLED_INVALID, callsInvalid, type AskedAs } from './validity.ts';

/** ASearcher scores differently in training and in evaluation: only training maps booleans for F1 and EM and handles Chinese. */
export type RewardVariant = 'train' | 'eval';

/** Each in [0, 1]. */
export interface Scores {
  readonly f1: number;
  readonly em: number;
  /** Cover exact match: every word of the gold answer is among those of the answer. */
  readonly cem: number;
}

const keep = (text: string): string => text;

/** F1 over sets of tokens, not multisets. */
export function f1Score(answer: string, gold: string, variant: RewardVariant): number {
  const prepare = variant === 'train' ? mapBoolean : keep;
  const answerText = normalizeText(prepare(answer));
  const goldText = normalizeText(prepare(gold));
  const asChinese = variant === 'train' && containsChinese(goldText);
  const answerTokens = asChinese ? chineseTokens(answerText) : new Set(words(answerText));
  const goldTokens = asChinese ? chineseTokens(goldText) : new Set(words(goldText));
  if (answerTokens.size === 0 || goldTokens.size === 0) return 0;
  let common = 0;
  for (const token of answerTokens) if (goldTokens.has(token)) common += 1;
  const precision = common / answerTokens.size;
  const recall = common / goldTokens.size;
  return precision + recall > 0 ? (2 * (precision * recall)) / (precision + recall) : 0;
}

/** 1 when both are equal after normalization. */
function emScore(answer: string, gold: string, variant: RewardVariant): number {
  const prepare = variant === 'train' ? mapBoolean : keep;
  return normalizeAnswer(prepare(answer)) === normalizeAnswer(prepare(gold)) ? 1 : 0;
}

/** 1 when every word of the gold answer is a word of the answer; booleans are mapped in both variants. */
function cemScore(answer: string, gold: string): number {
  const answerWords = new Set(normalizeAnswer(mapBoolean(answer)).split(' '));
  return normalizeAnswer(mapBoolean(gold))
    .split(' ')
    .every((word) => answerWords.has(word))
    ? 1
    : 0;
}

/** The best of each score over all gold answers, after trimming the answer; zeros without an answer or a gold answer. */
export function scoreAnswer(answer: string | undefined, golds: readonly string[], variant: RewardVariant): Scores {
  let best: Scores = { f1: 0, em: 0, cem: 0 };
  if (answer === undefined) return best;
  const given = strip(answer);
  for (const gold of golds) {
    best = {
      f1: Math.max(best.f1, f1Score(given, gold, variant)),
      em: Math.max(best.em, emScore(given, gold, variant)),
      cem: Math.max(best.cem, cemScore(given, gold)),
    };
  }
  return best;
}

/** The gold answers and the score to use. */
export interface GoldAnswers {
  readonly answers: readonly string[];
  /** Answers to the augmented form of the question; if empty, the score is unchanged. */
  readonly augAnswers: readonly string[];
  readonly reward: 'f1' | 'em';
}

/** Scores of an attempt and the reward computed from them. */
export interface TrajectoryReward extends Scores {
  /**
   * Chosen score, weighted with the augmented answers (0.7 + 0.3), times the format reward; 0 without an answer. -0.5 for an answer that
   * calls a question invalid although it was asked as valid.
   */
  readonly reward: number;
  readonly formatOk: boolean;
}

/** Reward of a whole attempt, scored as in training: f1, em and cem are those of the plain gold answers, before format and augmentation. */
export function trajectoryReward(
  outcome: { readonly answer: string | undefined; readonly formatOk: boolean; readonly askedAs?: AskedAs },
  gold: GoldAnswers,
): TrajectoryReward {
  const scores = scoreAnswer(outcome.answer, gold.answers, 'train');
  const plain = scores[gold.reward];
  let score = plain;
  if (gold.augAnswers.length > 0) {
    const augmented = scoreAnswer(outcome.answer, gold.augAnswers, 'train')[gold.reward];
    score = plain * 0.7 + Math.max(augmented, plain) * 0.3;
  }
  const { answer, formatOk, askedAs } = outcome;
  const penalised = askedAs === 'valid' && answer !== undefined && callsInvalid(answer);
  return { ...scores, reward: penalised ? CALLED_INVALID : formatOk ? score : 0, formatOk };
}
