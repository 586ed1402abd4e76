// The prompts for models that use function calling. The functions describe themselves.
import { baseTools, isBaseTool, type ToolKind } from '../../../../streams/core/tools.ts';
import { situationText, THOUGHT, type Prompts } from './prompts.ts';

const either = (...calls: readonly string[]): string =>
  calls.length <= 2 ? calls.join(', or ') : `${calls.slice(0, -1).join(', ')}, or ${calls.at(-1) ?? ''}`;

/** The built-in prompts for function calling. */
export function functionPrompts(tools: readonly ToolKind[] = baseTools): Prompts {
  const further = tools.map(({ name }) => name).filter((name) => !isBaseTool(name));
  const lookUp = ['search', 'access with a URL that you have seen', ...further];
  const lookUpOnly = `Then call exactly one function: ${either(...lookUp)}.`;
  const answerToo = `Then call exactly one function: ${either(...lookUp, 'answer')}.`;
  return {
    system: '',
    transcript: (question) => `You answer a question by looking things up.

Think first. ${answerToo}

What a function finds comes back as its result. A page comes in pieces, between <information> and </information>: write only a
thought about each and call nothing; the piece itself goes away and your thought stays. Look up what you do not know for certain,
and search again with other words when you find nothing. The function answer ends the work.

Question: ${question}`,
    act: (situation, mayAnswer) => `You are researching a question step by step.

${situationText(situation)}

${THOUGHT}
${mayAnswer ? `${answerToo} Answer when the notes prove it, else go on looking.` : `${lookUpOnly} It is too early for an answer.`}`,
    read: (situation, content) => `You are researching a question step by step and have opened a page.

${situationText(situation)}

The piece of the page that is in front of you, which you see only now:
${content}

Write between <thought> and </thought> what in this piece matters for the question: names, numbers, dates, and URLs worth
opening. If nothing does, say so in one sentence. Make no call.`,
    answer: (situation) => `You have researched a question and must answer it now.

${situationText(situation)}

${THOUGHT}
Then call the function answer with the answer that is most likely, even if it is not certain.`,
    noCall: (errorType) =>
      `No call was made (${errorType}). Call exactly one of ${[...tools.map(({ name }) => name), 'answer'].join(', ').replace(/, answer$/, ' and answer')}.`,
  };
}

/** The result of every call after the first one. */
export const ONE_CALL = 'This call was not made: make one call at a time.';
/** The result of a call that opened a page, before its pieces. */
export const PAGE_FOLLOWS = 'The page follows, piece by piece.';
/** The result of a call that returns nothing. */
export const TAKEN = 'Taken.';
