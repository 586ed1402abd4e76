// Shows the questions that await review, one at a time, in the terminal.
import { createInterface } from 'node:readline';
import { terminalText } from '../../telemetry/terminal-text.ts';
import type { ReviewedQuestion } from './question-review.ts';
import type { ReviewWord } from '../../../streams/questions/reviews.ts';

export interface ReviewPromptOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly waiting: readonly ReviewedQuestion[];
  /** Records an answer; the next question is shown after it resolves. */
  readonly say: (question: ReviewedQuestion, verdict: ReviewWord, comment: string) => Promise<void>;
}

/** Everything that a reviewer needs to know about a question, as lines. */
export function renderReview({ question, said }: ReviewedQuestion): string {
  const lines = [
    question.question,
    `  answer    ${question.answers.join(' | ')}`,
    ...question.evidence.map(({ title, fact }) => `  fact      ${title}: ${fact}`.slice(0, 400)),
    ...question.history.map(({ action, detail }) => `  ${action.padEnd(8)}  ${detail}`),
    ...question.gates.map(({ gate, detail }) => `  gate      ${gate}: ${detail}`),
    ...said.map((text) => `  review    ${text}`),
  ];
  return `${lines.join('\n')}\n`;
}

/** Parses an input line: a verdict with a comment, the next question, or quit. */
function reviewAnswer(line: string): { readonly verdict: ReviewWord; readonly comment: string } | 'skip' | 'leave' | undefined {
  const [, word = '', comment = ''] = /^\s*(\S*)\s*(.*?)\s*$/.exec(line) ?? [];
  const verdict = ({ a: 'accept', accept: 'accept', r: 'reject', reject: 'reject', c: 'comment', comment: 'comment' } as const)[
    word.toLowerCase()
  ];
  if (verdict === 'comment' && comment === '') return undefined;
  if (verdict !== undefined) return { verdict, comment };
  if (/^(?:s|skip)?$/i.test(word)) return 'skip';
  return /^(?:q|quit|exit)$/i.test(word) ? 'leave' : undefined;
}

const HELP = 'a [why] accepts, r [why] rejects, c <text> comments, s skips, q quits\n';

/** Returns the number of recorded verdicts and comments. Also resolves at the end of the input. */
export async function runReviewPrompt({ input, output, waiting, say }: ReviewPromptOptions): Promise<number> {
  if (waiting.length === 0) return 0;
  const lines = createInterface({ input, output, prompt: 'review> ' });
  const left = [...waiting];
  let recorded = 0;
  // false when no question is left
  const show = (): boolean => {
    const [next] = left;
    if (next === undefined) return false;
    output.write(terminalText(`\n${left.length} to go\n${renderReview(next)}`));
    lines.prompt();
    return true;
  };
  output.write(HELP);
  show();
  for await (const line of lines) {
    const [current] = left;
    const answer = reviewAnswer(line);
    if (answer === 'leave' || current === undefined) break;
    if (answer === undefined) {
      output.write(HELP);
      lines.prompt();
      continue;
    }
    if (answer !== 'skip') {
      await say(current, answer.verdict, answer.comment);
      recorded += 1;
    }
    if (answer === 'skip' || answer.verdict !== 'comment') left.shift();
    if (!show()) break;
  }
  lines.close();
  return recorded;
}
