// The seed questions of a synthesis.
import { createReadStream } from 'node:fs';
import { importQuestions } from '../../../producers/questions/import-questions.ts';
import { createFactbookSeeds } from '../../../producers/questions/synthesis/factbook-writer.ts';
import type { SeedQuestion } from '../../../producers/questions/synthesis/llm/llm-writer.ts';
import type { QuestionAccepted } from '../../../schemas/generated/events.ts';
import { isPlatformError, PlatformError } from '../../../streams/core/errors.ts';

/** Reads a file in the format of `questions import`. Throws QUESTIONS_INVALID for a bad line or an empty file. */
export async function readSeeds(file: string, split: 'train' | 'heldout'): Promise<readonly SeedQuestion[]> {
  const seeds: SeedQuestion[] = [];
  const accept = (questions: readonly QuestionAccepted[]): Promise<void> => {
    for (const { question, answers, aug_answers: augAnswers } of questions) seeds.push({ question, answers, augAnswers, split });
    return Promise.resolve();
  };
  try {
    await importQuestions(() => createReadStream(file), { ...{ dataset: 'seeds', split, producer: '', occurredAt: 0 }, accept });
  } catch (cause) {
    if (!isPlatformError(cause, 'QUESTIONS_INVALID')) throw cause;
    const message = cause.message.replace(/^.*?nothing was imported: /, `reading seed questions from ${file}: `);
    throw new PlatformError('QUESTIONS_INVALID', message, { cause });
  }
  return seeds;
}

/** Questions about one field of one country, in an order determined by the seed. */
export function factbookSeeds({ count, seed }: { readonly count: number; readonly seed: number }): readonly SeedQuestion[] {
  return createFactbookSeeds(count, seed).map(({ question, answers, split }) => ({ question, answers, split, augAnswers: [] }));
}
