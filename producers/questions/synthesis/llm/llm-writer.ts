// The writer that uses language models: one generates, another checks; facts come from the agents' tools. It keeps no state between calls.
// Guarantees: unusable output becomes a candidate that the well_formed gate rejects with the reason; a model that does not reply, even
// after the client's retries, is an error that ends the walk; the answer of a seed never changes; a fact is added only with a verbatim
// quote from its page.
import type { Evidence } from '../../../../schemas/generated/events.ts';
import type { Tool } from '../../../../streams/core/agents.ts';
import { createRandom, shuffled } from '../../../../streams/core/random.ts';
import type { Edited, FuzzOptions, InjectOptions, QuestionWriter, RoundsLeft } from '../port.ts';
import { askFor, sampled, type PromptRequest, type NamedModel } from './ask-model.ts';
import { answerDirectly, type ClosedBook } from './closed-book.ts';
import { everyFactNeeded, mentions, newInformation, timely, unique, wellFormed, type Checking } from './gates.ts';
import { findPage } from './look-up.ts';
import { promptOf } from './prompts.ts';
import { shownFacts, type AddedFact, type LlmDraft, type LlmState } from './state.ts';

/** A question to grow; its answer stays the same. */
export interface SeedQuestion {
  readonly question: string;
  readonly answers: readonly string[];
  readonly augAnswers: readonly string[];
  readonly split: 'train' | 'heldout';
}

export interface LlmWriterOptions {
  readonly seeds: readonly SeedQuestion[];
  /** Model that writes. */
  readonly generation: NamedModel;
  /** Model that answers from memory and gives verdicts. */
  readonly checking: NamedModel;
  readonly tools: readonly Tool[];
  /** UTC milliseconds. */
  readonly now: () => number;
}

/** The previous draft, marked as a dead end. */
const unusable = (draft: LlmDraft, reason: string): Edited<LlmState> => ({
  draft: { ...draft, state: { ...draft.state, unusable: reason } },
  detail: 'the step gave nothing that can be used',
});

function changed(draft: LlmDraft, question: string, fact?: AddedFact): LlmDraft {
  const facts = fact === undefined ? draft.state.facts : [...draft.state.facts, fact];
  return { ...draft, question, state: { facts, edits: draft.state.edits + 1 } };
}

class LlmWriter implements QuestionWriter<LlmState> {
  readonly name = 'llm';
  readonly #options: LlmWriterOptions;
  readonly #checking: Checking;

  constructor(options: LlmWriterOptions) {
    this.#options = options;
    this.#checking = {
      ...{ model: options.checking, tools: options.tools },
      date: () => new Date(options.now()).toISOString().slice(0, 10),
    };
  }

  seeds(count: number, seed: number): readonly LlmDraft[] {
    return shuffled(this.#options.seeds, createRandom(seed))
      .slice(0, count)
      .map((one) => ({ ...one, state: { facts: [], edits: 0 } }));
  }

  async choose(draft: LlmDraft, { left, random, signal }: FuzzOptions & { left: RoundsLeft }): Promise<'inject' | 'fuzz' | undefined> {
    const { question, answers, state } = draft;
    const texts = { question, answers, facts: shownFacts(state), injections: left.inject, fuzzes: left.fuzz };
    const reply = await this.#ask(['action'], { prompt: promptOf('choose', texts), decoding: sampled(random), signal });
    const action = reply.ok ? reply.said.action.toLowerCase() : '';
    return action === 'inject' || action === 'fuzz' ? action : undefined;
  }

  async inject(draft: LlmDraft, { random, signal }: InjectOptions): Promise<Edited<LlmState>> {
    const { question, answers, state } = draft;
    const used = state.facts.map(({ entity }) => entity);
    const prompt = promptOf('entity', { question, answers, used });
    const picked = await this.#ask(['entity', 'query'], { prompt, decoding: sampled(random), signal });
    if (!picked.ok) return unusable(draft, picked.reason);
    const { entity, query } = picked.said;
    if (!mentions(question, entity)) return unusable(draft, `${entity} is to be replaced, and is not in the question`);
    const found = await findPage(this.#options.tools, { query, read: new Set(state.facts.map(({ url }) => url)) }, signal);
    if (!found.ok) return unusable(draft, found.reason);
    const { url, title, text: page } = found.said;
    const made = await this.#ask(['quote', 'fact', 'question'], {
      ...{ prompt: promptOf('inject', { question, answers, entity, title, page }), decoding: sampled(random), signal },
    });
    if (!made.ok) return unusable(draft, made.reason);
    const { quote, fact, question: next } = made.said;
    if (!mentions(page, quote)) return unusable(draft, `${url} does not say "${quote.slice(0, 300)}"`);
    return { draft: changed(draft, next, { entity, fact, quote, url, title }), detail: `${entity} becomes: ${fact} (${title})` };
  }

  async fuzz(draft: LlmDraft, { random, signal }: FuzzOptions): Promise<Edited<LlmState>> {
    const { question, answers, state } = draft;
    const prompt = promptOf('fuzz', { question, answers, facts: shownFacts(state) });
    const made = await this.#ask(['detail', 'question'], { prompt, decoding: sampled(random), signal });
    if (!made.ok) return unusable(draft, made.reason);
    return { draft: changed(draft, made.said.question), detail: made.said.detail };
  }

  isComplete({ state }: LlmDraft): boolean {
    return state.edits > 0;
  }

  wellFormed(draft: LlmDraft, signal: AbortSignal) {
    return wellFormed(this.#checking, draft, signal);
  }

  timely(draft: LlmDraft, signal: AbortSignal) {
    return timely(this.#checking, draft, signal);
  }

  newInformation(draft: LlmDraft, before: LlmDraft, signal: AbortSignal) {
    return newInformation(this.#checking, [draft, before], signal);
  }

  everyClauseNeeded(draft: LlmDraft, signal: AbortSignal) {
    return everyFactNeeded(this.#checking, draft, signal);
  }

  /** A walk stays in the split of its seed; nothing more is known about which split a fact belongs to. */
  splitDisjoint({ split }: LlmDraft) {
    return Promise.resolve({ passed: true, detail: `its seed is of ${split}` });
  }

  answerDirectly(draft: LlmDraft, options: ClosedBook) {
    return answerDirectly(this.#options.checking, draft, options);
  }

  unique(draft: LlmDraft, wrong: readonly string[], signal: AbortSignal) {
    return unique(this.#checking, [draft, wrong], signal);
  }

  evidence({ state }: LlmDraft): readonly Evidence[] {
    return state.facts.map(({ url, title, quote }) => ({ url, title, fact: quote }));
  }

  kind(): string {
    return 'llm';
  }

  /** One for answering the seed, and one per fact. */
  hops({ state }: LlmDraft): number {
    return 1 + state.facts.length;
  }

  clauses({ state }: LlmDraft): number {
    return state.facts.length;
  }

  #ask<K extends string>(names: readonly K[], asking: PromptRequest) {
    return askFor(this.#options.generation, names, asking);
  }
}

/** Creates a writer from two models and the tools; sends nothing yet. */
export const createLlmWriter = (options: LlmWriterOptions): QuestionWriter<LlmState> => new LlmWriter(options);
