// The port of a language model: text in, text out, and the policy version behind every token where known.
import type { CallTiming, FunctionCall, FunctionSpec, GenerationSource } from './agents.ts';

/**
 * A piece of a conversation. Neighbours from the same side are one message, joined as they are; a model that only
 * continues text gets all pieces as one. Pieces may be strings that are kept elsewhere, so that they need not be joined.
 */
export interface PromptPart {
  readonly from: 'system' | 'user' | 'model' | 'tool';
  readonly text: string;
  /** On the last piece of a message of the model: the functions that it called. Chat only, as `tool`. */
  readonly calls?: readonly FunctionCall[];
  /** Of a piece from a tool, which is a message of its own: the call that it answers. */
  readonly callId?: string;
}

export interface GenerationRequest {
  readonly prompt: readonly PromptPart[];
  /** Generation ends before any of them. */
  readonly stop: readonly string[];
  readonly maxTokens: number;
  /** Functions that the model may call, or that it called before and may not call now. */
  readonly functions?: { readonly offered: readonly FunctionSpec[]; readonly choice: 'auto' | 'none' };
  /** The last piece is what the model has written so far; the generation continues it. */
  readonly goesOn?: boolean;
  /** Greedy decoding has no chance in it; sampling takes this seed. */
  readonly decoding: { readonly kind: 'greedy' } | { readonly kind: 'sample'; readonly seed: number };
}

export interface Generation {
  /** Without the stop string. */
  readonly text: string;
  /** What a reasoning model thought, where its server tells it apart. */
  readonly reasoning: string;
  readonly finishReason: string;
  /** The stop string that ended it, as the server's own field says; empty when none did, undefined when there is no such field. */
  readonly stopText: string | undefined;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** As the server says, in order; one span of version -1 when it does not. Their tokens add up to completionTokens. */
  readonly spans: readonly { readonly version: number; readonly tokens: number }[];
  /** Both empty, or one for each completion token. */
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly number[];
  /** Functions that the model called; undefined when there are none. */
  readonly calls?: readonly FunctionCall[];
  /** The model, as the server names it in the answer; undefined when it does not. */
  readonly servedAs?: string;
  readonly source?: GenerationSource;
}

/** Why nothing was generated, after everything was tried. */
export interface GenerationFailure {
  readonly status: 'error' | 'timeout';
  /** A short slug that begins with `model_`. */
  readonly errorType: string;
  /** For people; without secrets. */
  readonly message: string;
  /** True when the same request to this server can never succeed. */
  readonly fatal: boolean;
}

/** The error type of a prompt that the context of the model does not take. */
export const CONTEXT_FULL = 'model_context_full';

/** Where the time went. */
export interface GenerationTiming extends CallTiming {
  /** The last try, from sending to its first token; undefined when it was not streamed. */
  readonly firstTokenMs?: number;
}

export type GenerationOutcome = { readonly timing?: GenerationTiming } & (
  { readonly ok: true; readonly generation: Generation } | { readonly ok: false; readonly failure: GenerationFailure }
);

export interface LanguageModel {
  /** Whether it takes a conversation, or continues one text. */
  readonly takes: 'chat' | 'text';
  /** Never rejects: what goes wrong is a failure. An aborted signal ends it at once. */
  generate(request: GenerationRequest, signal: AbortSignal): Promise<GenerationOutcome>;
}
