// What the llm writer knows of its drafts.
import type { Draft } from '../port.ts';

/** A fact that went into a question, with the page that states it. */
export interface Fact {
  /** What the question named before. */
  readonly entity: string;
  /** In a few words. */
  readonly fact: string;
  /** As the page has it. */
  readonly quote: string;
  readonly url: string;
  readonly title: string;
}

export interface LlmState {
  /** In the order in which they went in. */
  readonly facts: readonly Fact[];
  readonly edits: number;
  /** Of the last step, when nothing can be made of what came back: why. */
  readonly unusable?: string;
}

export type LlmDraft = Draft<LlmState>;

/** Facts as the prompts show them. */
export const shownFacts = ({ facts }: LlmState): readonly string[] => facts.map(({ entity, quote }) => `${entity}: ${quote}`);

/** Everything that counts as the answer. */
export const goldsOf = ({ answers, augAnswers = [] }: LlmDraft): readonly string[] => [...answers, ...augAnswers];
