// The training questions of a run: every accepted question of the dataset's train split, in the order of admission.
import type { QuestionAccepted } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, LogReader } from '../../streams/core/ports.ts';
import { questionAt } from '../../streams/questions/order.ts';

/** What a request says of its question. */
export type AskedQuestion = Pick<QuestionAccepted, 'question_id' | 'question' | 'answers' | 'aug_answers'>;

export interface TrainingQuestions {
  readonly count: number;
  /** The question of the group that is admitted as number `index`; the same for ever. */
  at(index: number): AskedQuestion;
  /** Undefined when the dataset has no such question. */
  find(questionId: string): AskedQuestion | undefined;
}

export interface QuestionDeps {
  readonly log: LogReader;
  readonly events: EventReader;
}

/** Reads the questions of a dataset. Throws QUESTIONS_INVALID when there is none, for then the run could never begin. */
export async function loadTrainingQuestions(deps: QuestionDeps, dataset: string, seed: number): Promise<TrainingQuestions> {
  const byId = new Map<string, AskedQuestion>();
  await deps.log.readToEnd('questions', {
    onBatch: async (batch) => {
      for (const record of batch.records) {
        const read = await deps.events.read(record);
        if (!read.ok || read.value.type !== 'QuestionAccepted') continue;
        const { dataset: from, split, question_id, question, answers, aug_answers } = read.value.event;
        if (from === dataset && split === 'train') byId.set(question_id, { question_id, question, answers, aug_answers });
      }
    },
  });
  // sorted, so that the order in which questions were accepted does not matter
  const questions = [...byId.values()].sort((a, b) => (a.question_id < b.question_id ? -1 : 1));
  return {
    count: questions.length,
    find: (questionId) => byId.get(questionId),
    at(index) {
      const question = questions[questions.length === 0 ? -1 : questionAt(seed, index, questions.length)];
      if (question !== undefined) return question;
      throw new PlatformError(
        'QUESTIONS_INVALID',
        `choosing a question of dataset ${dataset}: it has none for training; write or import some first`,
      );
    },
  };
}
