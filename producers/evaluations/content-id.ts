import { createHash } from 'node:crypto';

/** The content that identifies a question, whatever its source. */
export interface QuestionContent {
  readonly question: string;
  readonly answers: readonly string[];
  /** File that belongs to the question. */
  readonly attachment?: string | undefined;
}

const normal = (text: string): string => text.normalize('NFC').replace(/\s+/gu, ' ').trim();

/** Hash of a question, its answers in any order, and its attachment. It does not depend on file names, set names or other columns. */
export function contentIdOf({ question, answers, attachment = '' }: QuestionContent): string {
  const content = [normal(question), [...new Set(answers.map(normal))].sort(), normal(attachment)];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16);
}
