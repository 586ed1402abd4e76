// The bounded history for large reasoning models: every call is a fresh prompt with the question, the date and the last 25,000 characters
// of short notes. Invariants: the notes in a prompt never exceed the bound; an answer counts only after enough documents or enough acts, or
// when the limits leave no other turn.
import type { FunctionSpec, Observation, PastTurn } from '../../../../streams/core/agents.ts';
import { baseTools, type ToolKind } from '../../../../streams/core/tools.ts';
import { functionPrompts } from './function-prompts.ts';
import { answerOnly, contentOf, everyFunction, lookUps } from './functions.ts';
import type { AgentMemory, TurnPrompt, CallForm } from './memory.ts';
import { forgetPages, pageRules, readingOf, tailOf, type PageRules, type ReadTurn } from './pages.ts';
import { thoughtOf } from './output.ts';
import { builtInPrompts, information, NOTHING_ON_PAGE, pieceText, thought, type Prompts, type PromptInputs } from './prompts.ts';
import { renderAction } from '../../../../streams/reward/format.ts';

export interface BoundedMemoryOptions {
  /** Characters of notes in a prompt; default 25,000. */
  readonly historyChars?: number;
  /** Maximum characters of a piece of a page; default 10,000. */
  readonly pieceChars?: number;
  /** Documents that must be found before an answer counts. */
  readonly enoughDocuments?: number;
  /**
   * After this many acts, an answer counts regardless of documents. An act is anything that the model wrote, including a refused answer.
   */
  readonly enoughActs?: number;
  /** Default: the built-in prompts. */
  readonly prompts?: Prompts;
  /** Default: tags. */
  readonly calls?: CallForm;
  /** Default: search and access. */
  readonly tools?: readonly ToolKind[];
}

const defaults = { historyChars: 25_000, pieceChars: 10_000, enoughDocuments: 20, enoughActs: 32 } as const;
const STOPS = ['<|im_end|>', '<|endoftext|>'] as const;

interface NoteTaking {
  readonly kept: (read: NonNullable<ReadTurn['read']>) => string;
  readonly tools: readonly ToolKind[];
}

/** The notes on a turn. A premature answer is dropped; the thought before it stays. */
function noteOf({ turn, page, read }: ReadTurn, { kept, tools }: NoteTaking): string {
  const lines: string[] = [];
  if (read !== undefined) lines.push(information(pieceText(read.piece, kept(read))));
  const wrote = thoughtOf(contentOf(turn), tools);
  if (wrote !== '') lines.push(thought(wrote));
  if (turn.action !== undefined) lines.push(renderAction(turn.action));
  if (page?.pieces === 0) lines.push(information(NOTHING_ON_PAGE));
  else if (page === undefined && turn.result !== undefined) lines.push(information(turn.result.text));
  return lines.map((line) => `${line}\n`).join('');
}

/** Notes on every turn, oldest first. */
function notesOf(turns: readonly ReadTurn[], tools: readonly ToolKind[]): readonly string[] {
  const pages = new Map(turns.flatMap(({ turn, page }) => (page === undefined ? [] : [[turn, page.kept] as const])));
  const kept: NoteTaking['kept'] = ({ opened, piece }) => pages.get(opened)?.[piece] ?? '';
  return turns.map((turn) => noteOf(turn, { kept, tools }));
}

/** Documents found by searches, plus opened pages. */
const documentsIn = (turns: readonly ReadTurn[]): number =>
  turns.reduce((sum, { turn: { action, result } }) => {
    if (result?.status !== 'ok') return sum;
    if (action?.tool === 'search') return sum + result.items.length;
    return action?.tool === 'access' ? sum + 1 : sum;
  }, 0);

/** The bounded memory. Its token count includes only the tokens that the model wrote. */
export function createBoundedMemory(options: BoundedMemoryOptions = {}): AgentMemory {
  const { historyChars, pieceChars, enoughDocuments, enoughActs } = { ...defaults, ...options };
  const { calls = 'tags', tools = baseTools } = options;
  const { prompts = calls === 'tags' ? builtInPrompts(tools) : functionPrompts(tools) } = options;
  const system = prompts.system === '' ? [] : [{ from: 'system' as const, text: prompts.system }];
  const rules: PageRules = { ...pageRules, pieceChars };
  const [every, looking] = [everyFunction(tools), lookUps(tools)];

  function offered(mode: TurnPrompt['mode'], mayAnswer: boolean): readonly FunctionSpec[] {
    if (mode === 'answer') return answerOnly;
    return mayAnswer ? every : looking;
  }

  function ask({ question, history, askedAt, final = false }: Observation): TurnPrompt {
    const { turns, next } = readingOf(history, rules);
    const situation: PromptInputs = { question, askedAt, history: tailOf(notesOf(turns, tools).join(''), historyChars) };
    const asking = (mode: TurnPrompt['mode'], text: string, mayAnswer: boolean): TurnPrompt => ({
      ...{ mode, stop: STOPS, mayAnswer, calls: 'after_reasoning' as const },
      prompt: [...system, { from: 'user', text }],
      ...(calls === 'tags' || mode === 'read' ? {} : { functions: { offered: offered(mode, mayAnswer), choice: 'auto' as const } }),
    });
    if (final) return asking('answer', prompts.answer(situation), true);
    if (next !== undefined) return asking('read', prompts.read(situation, pieceText(next.piece, next.text)), false);
    const mayAnswer = documentsIn(turns) >= enoughDocuments || turns.length >= enoughActs;
    return asking('act', prompts.act(situation, mayAnswer), mayAnswer);
  }

  /** Drops texts that are entirely before the bound; keeps what is counted. */
  function forgetBefore(history: readonly PastTurn[]): readonly PastTurn[] {
    const { turns, next } = readingOf(history, rules);
    const notes = notesOf(turns, tools);
    const open = next === undefined ? undefined : turns.findLast(({ page }) => page !== undefined)?.turn;
    const gone = new Set<PastTurn>();
    let after = 0;
    for (const [at, { turn }] of [...turns.entries()].reverse()) {
      if (after >= historyChars && turn !== open) gone.add(turn);
      after += notes[at]?.length ?? 0;
    }
    return gone.size === 0 ? history : history.map((turn) => (gone.has(turn) ? withoutTexts(turn) : turn));
  }

  return {
    name: 'bounded',
    ask,
    forget: (history) => forgetBefore(forgetPages(history, rules)),
    spent: (history, { completionTokens }) => history.reduce((sum, { tokens = 0 }) => sum + tokens, completionTokens),
  };
}

function withoutTexts(turn: PastTurn): PastTurn {
  if (turn.text === '' && (turn.result === undefined || turn.result.text === '')) return turn;
  const { result, ...rest } = turn;
  return { ...rest, text: '', result: result === undefined ? undefined : { ...result, text: '' } };
}
