// The training questions of a run: every accepted question of the dataset's train split, in admission order. The order depends on all
// questions ever accepted, including those that a human has rejected since: an admission whose question has been rejected uses another
// one, so that a verdict does not change the questions of the other admissions.
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, Following, LogBatch, LogReader, Position } from '../../streams/core/ports.ts';
import { batchesOf } from '../../streams/core/read-log.ts';
import { questionAt } from '../../streams/questions/order.ts';
import { createQuestionSet } from '../../streams/questions/question-set.ts';
import type { AskedQuestion, TrainingQuestions } from '../../streams/trainer/training-questions.ts';

/** Questions that are updated with new verdicts. */
export interface FollowedQuestions extends TrainingQuestions {
  /** Continues from where the initial read ended. */
  follow(onError: (error: unknown) => void): Promise<Following>;
}

export interface QuestionDeps {
  readonly log: LogReader;
  readonly events: EventReader;
}

/** Reads the questions of a dataset. If there is none, `at` throws QUESTIONS_INVALID, because the run could never start. */
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
  // sorted, so that the order of acceptance does not matter; questions that are accepted later are used from the next start on
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
