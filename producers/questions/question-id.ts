import { createHash } from 'node:crypto';

/** Stable id of a question: the name of its set, then a hash of that name and the text. */
export const questionIdOf = (dataset: string, question: string): string =>
  `${dataset}-${createHash('sha256').update(`${dataset}\n${question}`).digest('hex').slice(0, 12)}`;
