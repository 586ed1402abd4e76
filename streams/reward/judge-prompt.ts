// The complete prompt of the judge. Changing it changes the verdicts, so the id of an evaluation includes its hash.
import { createHash } from 'node:crypto';

/** Maximum number of characters of an answer that the judge sees. */
const SHOWN_CHARS = 500;

export interface JudgedAnswer {
  readonly question: string;
  /** Each of them is a correct answer. */
  readonly golds: readonly string[];
  readonly answer: string;
}

const TEMPLATE = `You mark the answer that somebody gave to a question.

Question: {question}

Right answers (any one of them is enough): {golds}

Answer to mark: {answer}

The answer is right when it means the same as one of the right answers: another spelling, language, unit, order or more words
around it do not matter, as long as nothing in it contradicts. It is wrong when it means something else, leaves a part out that
the question asks for, names several possibilities of which not all are right, or says nothing. Do not answer the question
yourself, and do not doubt the right answers.

Reply with one JSON object and nothing else:
{"rationale": "<why, in one sentence>", "judgement": "correct" or "incorrect"}`;

/** Changes with every change of the template. */
export const JUDGE_PROMPT_SHA256 = createHash('sha256').update(TEMPLATE).digest('hex');

/** Builds the prompt; texts are inserted as JSON, so that none can pass for a part of it. */
export function judgePrompt({ question, golds, answer }: JudgedAnswer): string {
  const texts: Readonly<Record<string, string>> = {
    question: JSON.stringify(question),
    golds: JSON.stringify(golds),
    answer: JSON.stringify(answer.slice(0, SHOWN_CHARS)),
  };
  return TEMPLATE.replace(/\{(question|golds|answer)\}/g, (_, name: string) => texts[name] ?? '');
}
