// The port of a language model: text in, text out, and the policy version behind every token where known.
import type { CallTiming, FunctionCall, FunctionSpec, GenerationSource } from './agents.ts';

/**
 * A piece of a conversation. Consecutive pieces from one side form one message, concatenated unchanged; a model that only continues text
 * gets all pieces as one text. Pieces may be strings that are kept elsewhere, so that a long prompt is not copied.
 */
export interface PromptPart {
  readonly from: 'system' | 'user' | 'model' | 'tool';
  readonly text: string;
  /** On the last piece of a message from the model: the functions that it called. Only for chat, like `tool`. */
  readonly calls?: readonly FunctionCall[];
  /** On a piece from a tool, which is a separate message: the id of the call that it answers. */
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
  /** Greedy decoding is not random; sampling uses this seed. */
  readonly decoding: { readonly kind: 'greedy' } | { readonly kind: 'sample'; readonly seed: number };
}

export interface Generation {
  /** Without the stop string. */
  readonly text: string;
  /** The reasoning of the model, if its server returns it separately. */
  readonly reasoning: string;
  readonly finishReason: string;
  /** The stop string that ended it, from a field of the response; empty when none did, undefined when there is no such field. */
  readonly stopText: string | undefined;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** As the server reports them, in order; one span of version -1 if it reports none. Their tokens add up to completionTokens. */
  readonly spans: readonly { readonly version: number; readonly tokens: number }[];
  /** Both empty, or one for each completion token. */
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly number[];
  /** Functions that the model called; undefined when there are none. */
  readonly calls?: readonly FunctionCall[];
  /** The model, as the server names it in the response; undefined when it does not. */
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

/** The error type of a prompt that does not fit into the context of the model. */
export const CONTEXT_FULL = 'model_context_full';

/** Time of a generation by phase, ms. */
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
  /** Never rejects: an error is returned as a failure. An aborted signal ends it at once. */
  generate(request: GenerationRequest, signal: AbortSignal): Promise<GenerationOutcome>;
}
