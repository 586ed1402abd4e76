// The training questions of a run: every accepted question of the dataset's train split, in the order of admission. The
// order is a function of all that was ever accepted; an admission whose question a human has rejected by then asks another
// one, so that a verdict moves nothing else.
import type { QuestionAccepted } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, Following, LogBatch, LogReader, Position } from '../../streams/core/ports.ts';
import { batchesOf } from '../../streams/core/read-log.ts';
import { questionAt } from '../../streams/questions/order.ts';
import { createQuestionSet } from '../../streams/questions/question-set.ts';

/** What a request says of its question. */
export type AskedQuestion = Pick<QuestionAccepted, 'question_id' | 'question' | 'answers' | 'aug_answers'>;

export interface TrainingQuestions {
  /** Questions that are asked now. */
  readonly count: number;
  /** The question of the group that is admitted as number `index`; the same for ever, unless humans reject or take back. */
  at(index: number): AskedQuestion;
  /** Undefined when the dataset has no such question; rejected ones are found, for groups that were admitted before. */
  find(questionId: string): AskedQuestion | undefined;
}

/** Questions that hear of verdicts as they are given. */
export interface FollowedQuestions extends TrainingQuestions {
  /** From where the questions were read to. */
  follow(onError: (error: unknown) => void): Promise<Following>;
}

export interface QuestionDeps {
  readonly log: LogReader;
  readonly events: EventReader;
}

/** Reads the questions of a dataset. Throws QUESTIONS_INVALID when there is none, for then the run could never begin. */
export async function loadTrainingQuestions({ log, events }: QuestionDeps, dataset: string, seed: number): Promise<FollowedQuestions> {
  const set = createQuestionSet(dataset, ({ split, question_id, question, answers, aug_answers }) => ({
    isTraining: split === 'train',
    asked: { question_id, question, answers, aug_answers },
  }));
  const positions = new Map<number, number>();
  let read = 0;
  const fold = async ({ partition, nextOffset, records }: LogBatch): Promise<void> => {
    for (const record of records) {
      const one = await events.read(record);
      if (one.ok && (one.value.type === 'QuestionAccepted' || one.value.type === 'QuestionRejected')) set.fold(one.value);
    }
    positions.set(partition, nextOffset);
    read += 1;
  };
  for await (const batch of batchesOf(log, 'questions')) await fold(batch);
  // sorted, so that the order in which questions were accepted does not matter; what is accepted later is of later runs
  const all: readonly AskedQuestion[] = set
    .all()
    .flatMap(({ isTraining, asked }) => (isTraining ? [asked] : []))
    .sort((a, b) => (a.question_id < b.question_id ? -1 : 1));
  const byId = new Map(all.map((question) => [question.question_id, question]));
  let kept: { readonly asOf: number; readonly questions: readonly AskedQuestion[] } | undefined;
  const current = (): readonly AskedQuestion[] => {
    if (kept?.asOf !== read) kept = { asOf: read, questions: all.filter(({ question_id: id }) => !set.isRejected(id)) };
    return kept.questions;
  };
  return {
    get count() {
      return current().length;
    },
    find: (questionId) => byId.get(questionId),
    at(index) {
      const question = all.length === 0 ? undefined : all[questionAt(seed, index, all.length)];
      if (question !== undefined && !set.isRejected(question.question_id)) return question;
      const instead = current();
      const other = instead.length === 0 ? undefined : instead[questionAt(seed, index, instead.length)];
      if (other !== undefined) return other;
      throw new PlatformError(
        'QUESTIONS_INVALID',
        `choosing a question of dataset ${dataset}: it has none for training; write or import some first`,
      );
    },
    follow(onError) {
      const from = [...positions].map(([partition, offset]): Position => ({ topic: 'questions', partition, offset }));
      return log.follow({ topics: ['questions'], from, otherwise: 'first', onBatch: fold, onError });
    },
  };
}
