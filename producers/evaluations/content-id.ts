import { createHash } from 'node:crypto';

/** What makes two questions the same one, wherever they come from. */
export interface QuestionContent {
  readonly question: string;
  readonly answers: readonly string[];
  /** File that belongs to it. */
  readonly attachment?: string | undefined;
}

const normal = (text: string): string => text.normalize('NFC').replace(/\s+/gu, ' ').trim();

/** Hash of a question, its answers in any order, and its attachment. File names, set names and other columns do not count. */
export function contentIdOf({ question, answers, attachment = '' }: QuestionContent): string {
  const content = [normal(question), [...new Set(answers.map(normal))].sort(), normal(attachment)];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16);
}
