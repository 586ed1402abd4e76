// Keeps the questions of a run up to date: questions that humans reject during the run are no longer asked.
import { loadTrainingQuestions, type QuestionDeps } from '../../../../consumers/trainer/questions.ts';
import type { TrainingQuestions } from '../../../../streams/trainer/training-questions.ts';
import { messageOf } from '../../../../streams/core/errors.ts';
import type { Following, Logger } from '../../../../streams/core/ports.ts';

export interface HeardQuestions {
  /** Reads a set and follows its verdicts; stops following the previously loaded set. */
  readonly load: (dataset: string, seed: number) => Promise<TrainingQuestions>;
  close(): Promise<void>;
}

/** Reads nothing yet. */
export function hearQuestions(deps: QuestionDeps, logger: Logger): HeardQuestions {
  let following: Following | undefined;
  const close = async (): Promise<void> => {
    const before = following;
    following = undefined;
    await before?.close();
  };
  return {
    close,
    async load(dataset, seed) {
      await close();
      const questions = await loadTrainingQuestions(deps, dataset, seed);
      following = await questions.follow((error) => {
        logger.warn(
          { error: messageOf(error) },
          'verdicts on questions are no longer received; the trainer reads them when it starts again',
        );
      });
      return questions;
    },
  };
}
