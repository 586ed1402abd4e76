// The gates of the LLM writer. Code decides what code can decide; the checking model answers the rest, with greedy decoding. A check
// without a verdict rejects: a question is accepted only on an explicit yes.
import type { Tool } from '../../../../streams/core/agents.ts';
import { normalizeAnswer } from '../../../../streams/reward/normalise.ts';
import { spaced } from '../clause.ts';
import type { GateVerdict } from '../port.ts';
import { askFor, type NamedModel } from './ask-model.ts';
import { searchText } from './look-up.ts';
import { promptOf } from './prompts.ts';
import { isYes } from './reply.ts';
import { goldsOf, shownFacts, type LlmDraft } from './state.ts';

export interface Checking {
  readonly model: NamedModel;
  /** Tools for looking up alternative answers. */
  readonly tools: readonly Tool[];
  /** Today's date, as YYYY-MM-DD. */
  readonly date: () => string;
}

const MAX_QUESTION_CHARS = 2_000;
const QUERY_CHARS = 300;
const FOUND_CHARS = 6_000;

const refused = (detail: string): GateVerdict => ({ passed: false, detail });

/** Whether a text contains these words, ignoring punctuation between them. */
export const mentions = (text: string, part: string): boolean => spaced(part).trim() !== '' && spaced(text).includes(spaced(part));

interface GatePrompt {
  readonly prompt: string;
  /** The yes-or-no field of the reply, and the value that passes. */
  readonly field: string;
  readonly passes: boolean;
}

async function asked(model: NamedModel, { prompt, field, passes }: GatePrompt, signal: AbortSignal): Promise<GateVerdict> {
  const reply = await askFor(model, ['reason', field], { prompt, decoding: { kind: 'greedy' }, signal });
  if (!reply.ok) return refused(`no verdict: ${reply.reason}`);
  const said = isYes(reply.said[field] ?? '');
  if (said === undefined) return refused(`no verdict: ${model.name} replied neither yes nor no`);
  return { passed: said === passes, detail: reply.said['reason'] ?? '' };
}

/** The faults that code can detect in a question's words. */
function faultsOf(draft: LlmDraft): readonly string[] {
  const { question, state } = draft;
  const named = state.facts.map(({ entity }) => entity).filter((entity) => mentions(question, entity));
  return [
    ...(state.unusable === undefined ? [] : [state.unusable]),
    ...(question.length > MAX_QUESTION_CHARS ? [`${question.length} characters are too many`] : []),
    ...(goldsOf(draft).some((answer) => mentions(question, answer)) ? ['the answer is in the question'] : []),
    ...named.map((entity) => `${entity} is still named`),
  ];
}

/** Seed questions are accepted as written, even without a question mark. */
export async function wellFormed({ model }: Checking, draft: LlmDraft, signal: AbortSignal): Promise<GateVerdict> {
  const faults = faultsOf(draft);
  if (faults.length > 0) return refused(faults.join('; '));
  const { question, answers, state } = draft;
  const prompt = promptOf('wellFormed', { question, answers, facts: shownFacts(state) });
  return asked(model, { prompt, field: 'good', passes: true }, signal);
}

export const timely = ({ model, date }: Checking, { question, answers }: LlmDraft, signal: AbortSignal): Promise<GateVerdict> =>
  asked(model, { prompt: promptOf('timely', { question, answers, date: date() }), field: 'keeps', passes: true }, signal);

const sortedWords = (text: string): string => [...new Set(spaced(text).trim().split(' '))].sort().join(' ');

/** A fuzz only has to change the words; an added fact must not be in the question already. */
export async function newInformation({ model }: Checking, [draft, before]: readonly [LlmDraft, LlmDraft], signal: AbortSignal) {
  if (sortedWords(draft.question) === sortedWords(before.question)) return refused('the words are the same');
  const added = draft.state.facts[before.state.facts.length];
  if (added === undefined) return { passed: true, detail: 'no fact was added; the words are others' };
  const again = before.state.facts.find(({ quote }) => mentions(quote, added.quote) || mentions(added.quote, quote));
  if (again !== undefined) return refused(`it is in it already, about ${again.entity}`);
  const texts = { question: before.question, facts: shownFacts(before.state), added: `${added.fact} (${added.quote})` };
  return asked(model, { prompt: promptOf('covered', texts), field: 'told', passes: false }, signal);
}

/** A seed passes unchanged. */
export async function everyFactNeeded(
  { model }: Checking,
  { question, answers, state }: LlmDraft,
  signal: AbortSignal,
): Promise<GateVerdict> {
  if (state.facts.length === 0) return { passed: true, detail: 'no fact was added' };
  const prompt = promptOf('needed', { question, answers, facts: shownFacts(state) });
  return asked(model, { prompt, field: 'needed', passes: true }, signal);
}

async function alternative({ model, tools }: Checking, [draft, given]: readonly [LlmDraft, string], signal: AbortSignal) {
  const query = `${given} ${draft.question}`.slice(0, QUERY_CHARS);
  const found = await searchText(tools, query, { chars: FOUND_CHARS, signal });
  const { question, answers, state } = draft;
  const prompt = promptOf('alternative', { question, answers, facts: shownFacts(state), given, found });
  return asked(model, { prompt, field: 'valid', passes: false }, signal);
}

/** Looks up each wrong answer to check whether it is also correct. */
export async function unique(checking: Checking, [draft, wrong]: readonly [LlmDraft, readonly string[]], signal: AbortSignal) {
  const golds = new Set(goldsOf(draft).map(normalizeAnswer));
  const given = new Map(wrong.map((answer) => [normalizeAnswer(answer), answer] as const));
  const others = [...given].filter(([normal]) => normal !== '' && !golds.has(normal)).map(([, answer]) => answer);
  const verdicts = await Promise.all(
    others.map(async (answer) => ({ answer, verdict: await alternative(checking, [draft, answer], signal) })),
  );
  const faults = verdicts
    .filter(({ verdict }) => !verdict.passed)
    .map(({ answer, verdict }) => `${answer} may be right as well: ${verdict.detail}`);
  if (faults.length > 0) return refused(faults.join('; '));
  return { passed: true, detail: `${others.length} other answers were given, and none is right` };
}
