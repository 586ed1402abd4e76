// The questions of a run for as long as it lives: what humans reject meanwhile is asked no more.
import { loadTrainingQuestions, type QuestionDeps, type TrainingQuestions } from '../../../../consumers/trainer/questions.ts';
import { messageOf } from '../../../../streams/core/errors.ts';
import type { Following, Logger } from '../../../../streams/core/ports.ts';

export interface HeardQuestions {
  /** Reads a set and follows its verdicts; a set that was loaded before is followed no more. */
  readonly load: (dataset: string, seed: number) => Promise<TrainingQuestions>;
  close(): Promise<void>;
}

/** Nothing is read yet. */
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
          'verdicts on questions are not heard any more; the trainer hears of them when it begins again',
        );
      });
      return questions;
    },
  };
}
