// The append-only transcript for base models: everything that was written and found, in order, without truncation. Only pages shrink: a
// piece is shown in full while it is read; afterward only its first 100 characters stay.
import type { PastTurn } from '../../../../streams/core/agents.ts';
import type { PromptPart } from '../../../../streams/core/models.ts';
import { baseTools, type ToolKind } from '../../../../streams/core/tools.ts';
import { functionPrompts, ONE_CALL, PAGE_FOLLOWS, TAKEN } from './function-prompts.ts';
import { contentOf, everyFunction } from './functions.ts';
import type { AgentMemory, TurnPrompt, CallForm } from './memory.ts';
import { forgetPages, pageRules, readingOf, type PageRules, type ReadTurn } from './pages.ts';
import { builtInPrompts, NOTHING_ON_PAGE, pieceTitle, type Prompts } from './prompts.ts';

export interface TranscriptOptions {
  /** `text`: a continued text in which each thought begins with its tag. `chat`: a conversation in which the model writes the tag. */
  readonly takes: 'chat' | 'text';
  /** Maximum characters of a piece of a page; default 25,000. */
  readonly pieceChars?: number;
  /** Default: the built-in prompts. */
  readonly prompts?: Prompts;
  /** Default: tags; functions require a conversation. */
  readonly calls?: CallForm;
  /** Default: search and access. */
  readonly tools?: readonly ToolKind[];
}

const READ_STOPS = ['</think>'] as const;

/** The text that the model reads after a turn; undefined when there is nothing new to read. */
function foundIn({ turn, page, read }: ReadTurn, { noCall }: Prompts): string | undefined {
  if (read !== undefined) return undefined;
  if (page !== undefined) return page.pieces === 0 ? NOTHING_ON_PAGE : undefined;
  if (turn.result !== undefined) return turn.result.text;
  return turn.withoutCall === undefined ? undefined : noCall(turn.withoutCall.errorType);
}

/** A shown or written passage, made of the history's own strings: a long transcript is never copied. */
interface Passage {
  readonly from: PromptPart['from'];
  readonly texts: readonly string[];
  readonly calls?: NonNullable<PromptPart['calls']>;
  readonly callId?: string;
}

const shown = (...texts: readonly string[]): Passage => ({ from: 'user', texts: ['<information>\n', ...texts, '\n</information>'] });

/** What the model wrote, including its calls, and what it reads next: the result of each call, if any. */
function passagesOfTurn(read: ReadTurn, prompts: Prompts): readonly Passage[] {
  const found = foundIn(read, prompts);
  const { calls = [] } = read.turn;
  const wrote: Passage = { from: 'model', texts: [contentOf(read.turn)] };
  if (calls.length === 0) return found === undefined ? [wrote] : [wrote, shown(found)];
  const first = found ?? (read.page === undefined ? (read.read === undefined ? TAKEN : ONE_CALL) : PAGE_FOLLOWS);
  const results = calls.map(({ id }, at): Passage => ({ from: 'tool', texts: [at === 0 ? first : ONE_CALL], callId: id }));
  return [{ ...wrote, calls }, ...results];
}

function passagesOf(turns: readonly ReadTurn[], beginning: readonly Passage[], prompts: Prompts): Passage[] {
  const kept = new Map(turns.flatMap(({ turn, page }) => (page === undefined ? [] : [[turn, page.kept] as const])));
  const passages: Passage[] = [...beginning];
  for (const read of turns) {
    if (read.read !== undefined) {
      const { opened, piece } = read.read;
      passages.push(shown(pieceTitle(piece), kept.get(opened)?.[piece] ?? ''));
    }
    passages.push(...passagesOfTurn(read, prompts));
  }
  return passages;
}

const GAP = '\n\n';
const THINK = '<think>\n';

/** One text to continue: each passage of the model begins with the thought tag, which the prompt supplies. */
function asText(passages: readonly Passage[]): readonly PromptPart[] {
  const texts = passages.flatMap(({ from, texts: own }, at) => [...(at === 0 ? [] : [GAP]), ...(from === 'model' ? [THINK] : []), ...own]);
  return [...texts, GAP, THINK].map((text) => ({ from: 'user', text }));
}

/** Consecutive passages from the same side form one message. */
function asChat(passages: readonly Passage[]): readonly PromptPart[] {
  return passages.flatMap(({ from, texts, ...called }, at) => {
    const gap = from !== 'tool' && passages[at - 1]?.from === from ? [GAP] : [];
    return [...gap, ...texts].map((text) => ({ from, text, ...called }));
  });
}

/** The append-only memory. Its token count is the size of the transcript: the latest prompt and its completion. */
export function createTranscriptMemory({ takes, pieceChars = 25_000, calls = 'tags', ...options }: TranscriptOptions): AgentMemory {
  const { tools = baseTools } = options;
  const { prompts = calls === 'tags' ? builtInPrompts(tools) : functionPrompts(tools) } = options;
  const callStops = [...tools.map(({ name }) => `</${name}>`), '</answer>'];
  const offered = everyFunction(tools);
  const rules: PageRules = { ...pageRules, pieceChars };
  const shape = takes === 'chat' ? asChat : asText;
  const system: readonly Passage[] = prompts.system === '' ? [] : [{ from: 'system', texts: [prompts.system] }];
  const asking = (mode: 'act' | 'read', prompt: TurnPrompt['prompt']): TurnPrompt => {
    const ask = { mode, prompt, mayAnswer: mode === 'act', calls: 'anywhere' } as const;
    if (calls === 'tags') return { ...ask, stop: mode === 'act' ? callStops : READ_STOPS };
    return { ...ask, stop: [], functions: { offered, choice: mode === 'act' ? 'auto' : 'none' } };
  };
  return {
    name: 'transcript',
    ask({ question, history, askedAt }): TurnPrompt {
      const { turns, next } = readingOf(history, rules);
      const parts = passagesOf(turns, [...system, { from: 'user', texts: [prompts.transcript(question, askedAt)] }], prompts);
      if (next === undefined) return asking('act', shape(parts));
      return asking('read', shape([...parts, shown(pieceTitle(next.piece), next.text)]));
    },
    forget: (history: readonly PastTurn[]) => forgetPages(history, rules),
    spent: (_history, { promptTokens, completionTokens }) => promptTokens + completionTokens,
  };
}
