// All prompts for language models. The date is an argument, so that a prompt can be reproduced from the log.
import { baseTools, type ToolKind } from '../../../../streams/core/tools.ts';

/** UTC date, e.g. 2026-03-09. */
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** How to call each tool, one line each. */
const callsOf = (tools: readonly ToolKind[]): string => tools.map(({ usage }) => `- ${usage}`).join('\n');

const ANSWER = `- <answer> the answer </answer> ends the work. Give the bare answer, without a sentence around it; part several answers with commas.`;

/** The beginning of a transcript: the task and the format, stated once. */
const transcriptPrompt = (tools: readonly ToolKind[], question: string): string => `You answer a question by looking things up.

Think first, between <think> and </think>. Then make exactly one call, which has to stand after </think>:
${callsOf(tools)}
${ANSWER}

What a call finds comes back between <information> and </information>. When that is a piece of a page, write only a thought
about it: the piece itself goes away and your thought stays. Look up what you do not know for certain, and make a new call
with other words when one finds nothing.

Question: ${question}`;

/** Wraps a tool result. */
export const information = (text: string): string => `<information>\n${text}\n</information>`;

/** Wraps a thought. */
export const thought = (text: string): string => `<think>\n${text}\n</think>`;

/** Title of a piece of a page; pieces are counted from 0. */
export const pieceTitle = (piece: number): string => `>>>> Page ${piece + 1} >>>>\n\n`;

/** A piece of a page with its title. */
export const pieceText = (piece: number, text: string): string => `${pieceTitle(piece)}${text}`;

/** Shown for a page without text. */
export const NOTHING_ON_PAGE = 'No More Information is Found for this URL.';

/** Shown to the model after output without a call. */
const noCallNotice = (tools: readonly ToolKind[], errorType: string): string =>
  `No call was made (${errorType}). Write one of ${tools.map(({ name }) => `<${name}>`).join(', ')} and <answer>, with its closing tag.`;

/** The inputs of a prompt with bounded history. */
export interface PromptInputs {
  readonly question: string;
  /** The end of the history so far. */
  readonly history: string;
  /** Undefined omits the date. */
  readonly askedAt: number | undefined;
}

export function situationText({ question, history, askedAt }: PromptInputs): string {
  const date = askedAt === undefined ? '' : `Today's date: ${dateOf(askedAt)}\n\n`;
  return `${date}Question: ${question}

Notes on what was done and found so far (the oldest are cut off):
${history === '' ? '(nothing yet)' : history}`;
}

export const THOUGHT =
  'First write what you make of the notes between <thought> and </thought>: what is known, what is missing, what is doubtful.';

/** Asks for a call; with `mayAnswer`, an answer is allowed too. */
const actPrompt = (calls: string, situation: PromptInputs, mayAnswer: boolean): string => `You are researching a question step by step.

${situationText(situation)}

${THOUGHT}
Then make exactly one call:
${mayAnswer ? `${calls}\n${ANSWER}\nAnswer when the notes prove it, else go on looking.` : `${calls}\nIt is too early for an answer.`}`;

/** Asks for a thought about a piece of a page. */
const readPrompt = (
  situation: PromptInputs,
  content: string,
): string => `You are researching a question step by step and have opened a page.

${situationText(situation)}

The piece of the page that is in front of you, which you see only now:
${content}

Write between <thought> and </thought> what in this piece matters for the question: names, numbers, dates, and URLs worth
opening. If nothing does, say so in one sentence. Make no call.`;

/** Asks only for the answer. */
const answerPrompt = (situation: PromptInputs): string => `You have researched a question and must answer it now.

${situationText(situation)}

${THOUGHT}
Then give the answer that is most likely, even if it is not certain:
${ANSWER}`;

const VALIDITY = {
  valid: 'The question is valid. Find the answer that is most likely.',
  open: 'Should the question turn out to be invalid, because no answer fits all that it says, then answer: the question is invalid.',
} as const;

/** The question in the form that prompts use, with the note on its validity. */
export const questionText = (question: string, askedAs: keyof typeof VALIDITY | undefined): string =>
  askedAs === undefined ? question : `${question}\n\n${VALIDITY[askedAs]}`;

/** All prompts, built-in or custom. */
export interface Prompts {
  /** System message; empty sends none. */
  readonly system: string;
  readonly transcript: (question: string, askedAt: number | undefined) => string;
  readonly act: (situation: PromptInputs, mayAnswer: boolean) => string;
  readonly read: (situation: PromptInputs, content: string) => string;
  readonly answer: (situation: PromptInputs) => string;
  /** After output without a call. */
  readonly noCall: (errorType: string) => string;
}

/** The prompts of an agent with these tools. */
export const builtInPrompts = (tools: readonly ToolKind[] = baseTools): Prompts => ({
  system: '',
  transcript: (question) => transcriptPrompt(tools, question),
  act: (situation, mayAnswer) => actPrompt(callsOf(tools), situation, mayAnswer),
  read: readPrompt,
  answer: answerPrompt,
  noCall: (errorType) => noCallNotice(tools, errorType),
});

/** Names of custom prompts; missing ones default to the built-in prompts. */
export const promptNames = ['system', 'transcript', 'act', 'act-or-answer', 'read', 'answer'] as const;
export type PromptName = (typeof promptNames)[number];

/** The placeholders in a custom prompt. */
const PLACE = /\{(question|history|content|date)\}/g;

type PromptValues = Readonly<Partial<Record<string, string>>>;

/** Replaces each placeholder once: braces in inserted text stay as they are. */
const fill = (template: string, values: PromptValues): string => template.replace(PLACE, (place, name: string) => values[name] ?? place);

const valuesOf = ({ question, history, askedAt }: PromptInputs, content = ''): PromptValues => ({
  ...{ question, history, content },
  date: askedAt === undefined ? '' : dateOf(askedAt),
});

/** Builds prompts from texts with {question}, {history}, {date} and, for a page, {content}; missing ones come from `base`. */
export function promptsFrom(texts: Readonly<Partial<Record<PromptName, string>>>, base = builtInPrompts()): Prompts {
  const { system, transcript, act, read, answer } = texts;
  const late = texts['act-or-answer'];
  return {
    ...base,
    system: system ?? base.system,
    transcript: (question, askedAt) =>
      transcript === undefined ? base.transcript(question, askedAt) : fill(transcript, valuesOf({ question, history: '', askedAt })),
    act(situation, mayAnswer) {
      const text = mayAnswer ? late : act;
      return text === undefined ? base.act(situation, mayAnswer) : fill(text, valuesOf(situation));
    },
    read: (situation, content) => (read === undefined ? base.read(situation, content) : fill(read, valuesOf(situation, content))),
    answer: (situation) => (answer === undefined ? base.answer(situation) : fill(answer, valuesOf(situation))),
  };
}
