// A fake of both models of question synthesis for tests. It recognizes each prompt by its wording and answers as a good model would, or as
// the test specifies. The questions that it writes are artificial, and quote the page in the prompt.
import type { ScriptedReply, LlmScript, SeenRequest } from './llm-server.ts';

const kinds = {
  choose: 'Which step makes this question harder',
  entity: 'Choose one thing that the question names',
  inject: 'Choose a fact about',
  fuzz: 'Choose one detail',
  wellFormed: 'You examine a question',
  timely: 'You examine whether a question will keep',
  covered: 'A fact is about to be put',
  needed: 'You examine whether a question says more',
  closedBook: 'Answer this question from what you know',
  alternative: 'Somebody gave an answer',
  judge: 'You mark the answer',
} as const;

export type SynthesisPrompt = keyof typeof kinds;
export const synthesisPrompts = Object.keys(kinds) as readonly SynthesisPrompt[];
export type SynthesisWords = Readonly<Record<SynthesisPrompt, string | ((request: SeenRequest) => string | ScriptedReply)>>;

/** Which synthesis prompt a request contains; undefined when it contains none. */
export const synthesisPromptOf = ({ prompt }: SeenRequest): SynthesisPrompt | undefined =>
  synthesisPrompts.find((kind) => prompt.includes(kinds[kind]));

/** The text that a prompt gives under a name. */
function given(prompt: string, name: string): string {
  const line = new RegExp(`^${name}[^:\\n]*: (".*")$`, 'm').exec(prompt)?.[1];
  return line === undefined ? '' : (JSON.parse(line) as string);
}

/** The entity in a question: the longest run of capitalized words after the first word of the question. */
function entityIn(question: string): string {
  const runs = [...question.replace(/^\S+/, '').matchAll(/\p{Lu}[\p{L}'-]*(?: (?:of |and |the )?\p{Lu}[\p{L}'-]*)*/gu)].map(([run]) => run);
  return runs.sort((a, b) => b.length - a.length)[0] ?? '';
}

/** A sentence or line of the page that contains none of the given names. */
function quoteFrom(page: string, ...without: readonly string[]): string {
  const lines = page.split(/\n|(?<=\.) /).map((line) => line.replace(/^[#*\s-]+/, '').trim());
  const fits = (line: string): boolean =>
    line.split(' ').length > 4 && without.every((name) => name === '' || !line.toLowerCase().includes(name.toLowerCase()));
  return lines.find(fits) ?? '';
}

const goodWords: SynthesisWords = {
  choose: '{"action": "inject"}',
  entity({ prompt }) {
    const entity = entityIn(given(prompt, 'Question'));
    return JSON.stringify({ entity, query: entity });
  },
  inject({ prompt }) {
    const question = given(prompt, 'Question');
    const entity = /Choose a fact about (".*?") that/.exec(prompt)?.[1];
    const name = entity === undefined ? '' : (JSON.parse(entity) as string);
    const quote = quoteFrom(given(prompt, 'A page about it'), name);
    return JSON.stringify({ quote, fact: quote, question: question.replace(name, () => `the one described as "${quote}"`) });
  },
  fuzz({ prompt }) {
    const question = given(prompt, 'Question');
    return JSON.stringify({ detail: 'the beginning is less exact', question: `In general terms: ${question}` });
  },
  wellFormed: '{"reason": "it is one question", "good": "yes"}',
  timely: '{"reason": "it stays", "keeps": "yes"}',
  covered: '{"reason": "it is new", "told": "no"}',
  needed: '{"reason": "none can be left out", "needed": "yes"}',
  closedBook: 'Perhaps this. {"answer": "nobody knows"}',
  alternative: '{"reason": "it says nothing", "valid": "no"}',
  judge: '{"rationale": "it says nothing", "judgement": "incorrect"}',
};

/** Answers as a good model would, except for prompts whose answer is given. */
export function synthesizer(words: Partial<SynthesisWords> = {}): LlmScript {
  return (request) => {
    const kind = synthesisPromptOf(request);
    const said = kind === undefined ? 'what?' : (words[kind] ?? goodWords[kind]);
    const reply = typeof said === 'string' ? said : said(request);
    return typeof reply === 'string' ? { kind: 'says', text: reply } : reply;
  };
}
