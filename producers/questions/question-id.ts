import { createHash } from 'node:crypto';

/** Stable id of a question: a hash of its set and its words. */
export const questionIdOf = (dataset: string, question: string): string =>
  `${dataset}-${createHash('sha256').update(`${dataset}\n${question}`).digest('hex').slice(0, 12)}`;
