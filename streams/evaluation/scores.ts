import type { AnswerScored, EvaluationCompleted } from '../../schemas/generated/events.ts';
import { mean } from './figures.ts';

/** The figures of EvaluationCompleted; all 0 for an evaluation without answers. */
export type EvaluationScores = Pick<
  EvaluationCompleted,
  'avg_f1' | 'avg_em' | 'avg_cem' | 'pass_f1' | 'pass_em' | 'reward_mean' | 'turns_mean' | 'tool_calls_mean'
>;

/** Averages are over all answers; pass is the mean over questions of the best answer. The order of the scores matters only for rounding. */
export function summarize(scores: readonly AnswerScored[]): EvaluationScores {
  const best = (figure: 'f1' | 'em'): number => {
    const byQuestion = new Map<string, number>();
    for (const score of scores) byQuestion.set(score.question_id, Math.max(score[figure], byQuestion.get(score.question_id) ?? 0));
    return mean([...byQuestion.values()]);
  };
  return {
    avg_f1: mean(scores.map(({ f1 }) => f1)),
    avg_em: mean(scores.map(({ em }) => em)),
    avg_cem: mean(scores.map(({ cem }) => cem)),
    pass_f1: best('f1'),
    pass_em: best('em'),
    reward_mean: mean(scores.map(({ reward }) => reward)),
    turns_mean: mean(scores.map(({ turns }) => turns)),
    tool_calls_mean: mean(scores.map(({ tool_calls: calls }) => calls)),
  };
}
