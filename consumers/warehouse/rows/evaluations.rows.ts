// evaluations -> evaluation_events, evaluation_scores
import type { AnswerScored, EvaluationCompleted, EvaluationStarted } from '../../../schemas/generated/events.ts';
import type { Row } from '../../../streams/core/ports.ts';
import { float, type Origin } from './cells.ts';
import { row, type ProjectionsOf } from './projection.ts';

const none = {
  avg_f1: 0,
  avg_em: 0,
  avg_cem: 0,
  pass_f1: 0,
  pass_em: 0,
  reward_mean: 0,
  turns_mean: 0,
  tool_calls_mean: 0,
};

const evaluationStartedRow = (event: EvaluationStarted, origin: Origin): Row => ({
  event: 'started',
  ...event,
  ...none,
  ...origin,
});

const evaluationCompletedRow = (event: EvaluationCompleted, origin: Origin): Row => ({
  event: 'completed',
  ...event,
  ...{ decoding: '', repeat: 0, subject: '', left_out: 0 },
  avg_f1: float(event.avg_f1),
  avg_em: float(event.avg_em),
  avg_cem: float(event.avg_cem),
  pass_f1: float(event.pass_f1),
  pass_em: float(event.pass_em),
  reward_mean: float(event.reward_mean),
  turns_mean: float(event.turns_mean),
  tool_calls_mean: float(event.tool_calls_mean),
  ...origin,
});

const scoreRow = (event: AnswerScored, origin: Origin): Row => ({
  ...event,
  reward: float(event.reward),
  f1: float(event.f1),
  em: float(event.em),
  cem: float(event.cem),
  ...origin,
});

export const evaluationProjections = {
  EvaluationStarted: row('evaluation_events', evaluationStartedRow),
  EvaluationCompleted: row('evaluation_events', evaluationCompletedRow),
  AnswerScored: row('evaluation_scores', scoreRow),
} satisfies ProjectionsOf<'evaluations'>;
