// A scripted model that researches for as long as it may: it searches, opens pages, thinks at length, and makes typical mistakes of models.
// Its behavior depends on the question and on how often it was asked; the prompt text only decides whether a call, a thought or the answer
// is expected.
import type { LlmScript, SeenRequest } from './llm-server.ts';

export interface ResearcherOptions {
  /** URLs to open, in order. */
  readonly urls: readonly string[];
  /** Search queries, in order. */
  readonly queries: readonly string[];
  /** Turns after which it answers, if the prompt allows it. */
  readonly turns: number;
  /** Characters of each thought. */
  readonly thoughtChars: number;
  /** Number of calls from one opened page to the next. */
  readonly opensEvery: number;
  /** Delay before each answer, ms. */
  readonly beforeMs?: number;
  /** Called with each request before it is answered; the turn is 0-based. */
  readonly onRequest?: (request: SeenRequest, turn: number) => void;
}

/** Malformed answers in place of a call, by turn. */
const mistakes: Readonly<Record<number, string>> = {
  3: 'I wonder.</think>',
  5: 'I wonder.</think> <search> ',
  7: 'I wonder.</think> <search> </search>',
};
/** The turn of a premature answer. */
const EARLY = 1;

const FILLER = 'The notes say more about rivers, borders, harbours and prices than about what is asked, so it goes on; ';

const thoughtOf = (turn: number, chars: number): string =>
  `Turn ${turn}. ${FILLER.repeat(Math.ceil(chars / FILLER.length))}`.slice(0, chars);

const wants = ({ prompt, body }: SeenRequest): 'call' | 'thought' | 'answer' => {
  if (prompt.includes('must answer it now')) return 'answer';
  const stops = Array.isArray(body['stop']) ? body['stop'] : [];
  return stops.includes('</think>') || prompt.includes('Make no call') ? 'thought' : 'call';
};

/** Each question belongs to one trajectory, so the answers to it are counted. */
export function researcher(options: ResearcherOptions): LlmScript {
  const turns = new Map<string, number>();
  const opened = new Map<string, number>();
  const { urls, queries, opensEvery, thoughtChars } = options;

  function call(question: string, turn: number): string {
    const opens = turn % opensEvery === opensEvery - 1;
    if (!opens) return `<search> ${queries[(turn + question.length) % queries.length] ?? ''} </search>`;
    const at = opened.get(question) ?? 0;
    opened.set(question, at + 1);
    return `<access> ${urls[at % urls.length] ?? ''} </access>`;
  }

  function write(request: SeenRequest, question: string, turn: number): string {
    const thought = thoughtOf(turn, thoughtChars);
    const wanted = wants(request);
    if (wanted === 'answer') return `<thought>${thought}</thought>\n<answer> Vienna </answer>`;
    if (wanted === 'thought')
      return request.body['stop']?.toString().includes('</think>') === true ? `${thought}</think>` : `<thought>${thought}</thought>`;
    const mistake = mistakes[turn];
    if (mistake !== undefined) return mistake;
    const answers = (turn === EARLY && request.prompt.includes('too early')) || turn + 1 >= options.turns;
    return `${thought}</think>\n${answers ? '<answer> Vienna </answer>' : call(question, turn)}`;
  }

  return (request) => {
    const question = /^Question: (.*)$/m.exec(request.prompt)?.[1] ?? '';
    const turn = turns.get(question) ?? 0;
    turns.set(question, turn + 1);
    options.onRequest?.(request, turn);
    return { kind: 'says', text: write(request, question, turn), beforeMs: options.beforeMs ?? 0, chunkTokens: 400 };
  };
}
