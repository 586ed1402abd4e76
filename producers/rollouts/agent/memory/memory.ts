// What a language model sees of a trajectory. Both memories are pure functions of the turns so far: the only state is the history, so a
// trajectory can be rebuilt from its events.
import type { Observation, PastTurn } from '../../../../streams/core/agents.ts';
import type { GenerationRequest, PromptPart } from '../../../../streams/core/models.ts';

/** What the model must write in a turn. */
export interface TurnPrompt {
  /** act: a call. read: a thought about a piece of a page. answer: only the answer. */
  readonly mode: 'act' | 'read' | 'answer';
  readonly prompt: readonly PromptPart[];
  readonly stop: readonly string[];
  /** Whether an answer counts in act mode. */
  readonly mayAnswer: boolean;
  /** The offered functions; if undefined, the model writes tags. */
  readonly functions?: NonNullable<GenerationRequest['functions']>;
  /** Where calls count: anywhere, or only after the reasoning of a reasoning model. */
  readonly calls: 'anywhere' | 'after_reasoning';
}

/** How a model makes calls: by tags in its text, or by its server's function calling. */
export type CallForm = 'tags' | 'functions';

export interface AgentMemory {
  readonly name: 'transcript' | 'bounded';
  /** The request for the next turn. */
  ask(observation: Observation): TurnPrompt;
  /** The history without anything that later prompts cannot show; `ask` gives the same prompts for it. */
  readonly forget: (history: readonly PastTurn[]) => readonly PastTurn[];
  /** Tokens that count toward the trajectory's limit after adding a turn of this size to the history. */
  spent(history: readonly PastTurn[], turn: { readonly promptTokens: number; readonly completionTokens: number }): number;
}

/** True for a turn in which the model returned nothing at all, as opposed to nothing usable: no memory shows it. */
export const gaveNothing = ({ withoutCall }: PastTurn): boolean => withoutCall?.errorType.startsWith('model_') === true;
