// Question sets that are written on demand.
import { COMPACT_DATASET, writeCompactQuestions } from '../../../producers/questions/compact/write-compact-questions.ts';
import type { CompactQuestions } from '../../../producers/questions/compact/write-compact-questions.ts';
import { FACTBOOK_DATASET, writeFactbookQuestions } from '../../../producers/questions/write-questions.ts';

/** Seed of the built-in sets: every run trains on the same ones. */
const SEED = 1;

/** The question set that a recipe trains on. */
export const datasetOf = { asearcher: FACTBOOK_DATASET, compact: COMPACT_DATASET, 'compact-tuned': FACTBOOK_DATASET } as const;

/** Writes a built-in set; undefined for an unknown name. */
export async function writeBuiltIn(
  dataset: string,
  options: { readonly occurredAt: number; readonly producer: string },
): Promise<CompactQuestions | undefined> {
  if (dataset === FACTBOOK_DATASET) return writeFactbookQuestions(SEED, options);
  return dataset === COMPACT_DATASET ? writeCompactQuestions(SEED, options) : undefined;
}
