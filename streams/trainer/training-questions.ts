// The questions of a run's dataset, as the trainer uses them.
import type { QuestionAccepted } from '../../schemas/generated/events.ts';

/** The fields of a question that a request carries. */
export type AskedQuestion = Pick<QuestionAccepted, 'question_id' | 'question' | 'answers' | 'aug_answers'>;

export interface TrainingQuestions {
  /** Number of questions currently in use. */
  readonly count: number;
  /** The question of the group with admission number `index`; constant unless humans reject or reinstate questions. */
  at(index: number): AskedQuestion;
  /** Undefined when the dataset has no such question; rejected questions are found, for groups that were admitted earlier. */
  find(questionId: string): AskedQuestion | undefined;
}
