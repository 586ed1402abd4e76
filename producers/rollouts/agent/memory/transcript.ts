// The append-only transcript of base models: everything that was written and found, in order, and nothing is cut. Only
// pages shrink: a piece is shown in full while it is read, and afterwards its first 100 characters stay.
import type { PastTurn } from '../../../../streams/core/agents.ts';
import type { PromptPart } from '../../../../streams/core/models.ts';
import { baseTools, type ToolKind } from '../../../../streams/core/tools.ts';
import type { AgentMemory, Ask } from './memory.ts';
import { forgetPages, pageRules, readingOf, type PageRules, type ReadTurn } from './pages.ts';
import { builtInPrompts, noCallNotice, NOTHING_ON_PAGE, pieceTitle, type Prompts } from './prompts.ts';

export interface TranscriptOptions {
  /** Text that is continued begins each thought with its tag; in a conversation the model writes it. */
  readonly takes: 'chat' | 'text';
  /** 25,000 unless given. */
  readonly pieceChars?: number;
  /** The built-in ones unless given. */
  readonly prompts?: Prompts;
  /** Search and access unless given. */
  readonly tools?: readonly ToolKind[];
}

const READ_STOPS = ['</think>'] as const;

/** What the model reads after a turn; undefined when nothing came back that it has not read. */
function foundIn({ turn, page, read }: ReadTurn, tools: readonly ToolKind[]): string | undefined {
  if (read !== undefined) return undefined;
  if (page !== undefined) return page.pieces === 0 ? NOTHING_ON_PAGE : undefined;
  if (turn.result !== undefined) return turn.result.text;
  return turn.withoutCall === undefined ? undefined : noCallNotice(turn.withoutCall.errorType, tools);
}

/** What was shown, or written, in pieces that are the strings of the history themselves: a long transcript is never copied. */
interface Passage {
  readonly from: PromptPart['from'];
  readonly texts: readonly string[];
}

const shown = (...texts: readonly string[]): Passage => ({ from: 'user', texts: ['<information>\n', ...texts, '\n</information>'] });

function passagesOf(turns: readonly ReadTurn[], beginning: readonly Passage[], tools: readonly ToolKind[]): Passage[] {
  const kept = new Map(turns.flatMap(({ turn, page }) => (page === undefined ? [] : [[turn, page.kept] as const])));
  const passages: Passage[] = [...beginning];
  for (const read of turns) {
    if (read.read !== undefined) {
      const { opened, piece } = read.read;
      passages.push(shown(pieceTitle(piece), kept.get(opened)?.[piece] ?? ''));
    }
    passages.push({ from: 'model', texts: [read.turn.text] });
    const found = foundIn(read, tools);
    if (found !== undefined) passages.push(shown(found));
  }
  return passages;
}

const GAP = '\n\n';
const THINK = '<think>\n';

/** One text to be continued: what the model wrote begins with the tag of its thought, which the prompt has. */
function asText(passages: readonly Passage[]): readonly PromptPart[] {
  const texts = passages.flatMap(({ from, texts: own }, at) => [...(at === 0 ? [] : [GAP]), ...(from === 'model' ? [THINK] : []), ...own]);
  return [...texts, GAP, THINK].map((text) => ({ from: 'user', text }));
}

/** Neighbours from the same side are one message. */
function asChat(passages: readonly Passage[]): readonly PromptPart[] {
  return passages.flatMap(({ from, texts }, at) => {
    const gap = passages[at - 1]?.from === from ? [GAP] : [];
    return [...gap, ...texts].map((text) => ({ from, text }));
  });
}

/** The append-only memory. Its tokens are those of the transcript: the prompt, and what was written to it last. */
export function createTranscriptMemory({ takes, pieceChars = 25_000, tools = baseTools, ...options }: TranscriptOptions): AgentMemory {
  const { prompts = builtInPrompts(tools) } = options;
  const callStops = [...tools.map(({ name }) => `</${name}>`), '</answer>'];
  const rules: PageRules = { ...pageRules, pieceChars };
  const shape = takes === 'chat' ? asChat : asText;
  const system: readonly Passage[] = prompts.system === '' ? [] : [{ from: 'system', texts: [prompts.system] }];
  return {
    name: 'transcript',
    ask({ question, history, askedAt }): Ask {
      const { turns, next } = readingOf(history, rules);
      const parts = passagesOf(turns, [...system, { from: 'user', texts: [prompts.transcript(question, askedAt)] }], tools);
      if (next === undefined) return { mode: 'act', prompt: shape(parts), stop: callStops, mayAnswer: true, calls: 'anywhere' };
      const prompt = shape([...parts, shown(pieceTitle(next.piece), next.text)]);
      return { mode: 'read', prompt, stop: READ_STOPS, mayAnswer: false, calls: 'anywhere' };
    },
    forget: (history: readonly PastTurn[]) => forgetPages(history, rules),
    spent: (_history, { promptTokens, completionTokens }) => promptTokens + completionTokens,
  };
}
