// The state of an LLM writer's draft.
import type { Draft } from '../port.ts';

/** A fact that was added to a question, with the page that states it. */
export interface AddedFact {
  /** What the question named before. */
  readonly entity: string;
  /** The fact in a few words. */
  readonly fact: string;
  /** Verbatim from the page. */
  readonly quote: string;
  readonly url: string;
  readonly title: string;
}

export interface LlmState {
  /** In the order in which they were added. */
  readonly facts: readonly AddedFact[];
  readonly edits: number;
  /** Why the last step is a dead end, if it is. */
  readonly unusable?: string;
}

export type LlmDraft = Draft<LlmState>;

/** Facts as the prompts show them. */
export const shownFacts = ({ facts }: LlmState): readonly string[] => facts.map(({ entity, quote }) => `${entity}: ${quote}`);

/** Everything that counts as a correct answer. */
export const goldsOf = ({ answers, augAnswers = [] }: LlmDraft): readonly string[] => [...answers, ...augAnswers];
