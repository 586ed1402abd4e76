// What a language model is shown of a trajectory. Both memories are pure functions of the turns so far: nothing is kept
// beside the history, so a trajectory can be rebuilt from its events.
import type { Observation, PastTurn } from '../../../../streams/core/agents.ts';
import type { GenerationRequest, PromptPart } from '../../../../streams/core/models.ts';

/** What the model is to write in a turn. */
export interface Ask {
  /** act: a call. read: a thought about a piece of a page. answer: the answer, and nothing else counts. */
  readonly mode: 'act' | 'read' | 'answer';
  readonly prompt: readonly PromptPart[];
  readonly stop: readonly string[];
  /** Whether an answer in act mode counts. */
  readonly mayAnswer: boolean;
  /** Functions that are offered; tags are written unless it is given. */
  readonly functions?: NonNullable<GenerationRequest['functions']>;
  /** Where calls count: anywhere, or only after the reasoning of a model that thinks aloud. */
  readonly calls: 'anywhere' | 'after_reasoning';
}

/** How a model calls: by tags in its text, or by functions that its server knows. */
export type CallForm = 'tags' | 'functions';

export interface AgentMemory {
  readonly name: 'transcript' | 'bounded';
  /** What is asked in the next turn. */
  ask(observation: Observation): Ask;
  /** The history less what no later prompt shows; `ask` gives the same prompts for it. */
  readonly forget: (history: readonly PastTurn[]) => readonly PastTurn[];
  /** Tokens that count against the limit of the trajectory, once a turn of this size came after the history. */
  spent(history: readonly PastTurn[], turn: { readonly promptTokens: number; readonly completionTokens: number }): number;
}

/** True for a turn in which the model gave nothing, as opposed to nothing of use: no memory shows it. */
export const gaveNothing = ({ withoutCall }: PastTurn): boolean => withoutCall?.errorType.startsWith('model_') === true;
