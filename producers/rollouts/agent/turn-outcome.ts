// Builds the outcome of one turn: the fields of TurnRecorded that describe what happened in it, without those that identify it.
import { createHash } from 'node:crypto';
import type { TurnRecorded } from '../../../schemas/generated/events.ts';
import type { TurnOutcome } from '../../../schemas/rollouts/turn.ts';
import { nameOf, textOf } from '../../../streams/core/tools.ts';
import type { Action, CallTiming, PolicyTurn, RankerDecision, ToolResult } from '../../../streams/core/agents.ts';
import { NO_PROMPT, type PlacedPrompt } from './prompt-chains.ts';

/** Texts are not truncated; hash and length are those of the full result. */
export type { TurnOutcome } from '../../../schemas/rollouts/turn.ts';

export interface FinishedTurn {
  readonly turn: number;
  readonly decided: PolicyTurn;
  readonly generationMs: number;
  /** Undefined when the turn called no tool, or only gave the answer. */
  readonly result: ToolResult | undefined;
  /** UTC microseconds, when the tool was called. */
  readonly startedAt: number;
  readonly latencyMs: number;
  /** Step reward of the turn. */
  readonly reward: number;
  /** Undefined unless the model's server reports the tokens of the prompt. */
  readonly prompt?: PlacedPrompt;
}

const digests = new WeakMap<ToolResult, string>();

/** Results that come from a cache are hashed once. */
function digestOf(result: ToolResult): string {
  const known = digests.get(result);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(result.text).digest('hex');
  digests.set(result, digest);
  return digest;
}

function argumentsOf(action: Action | undefined): string {
  if (action === undefined) return '{}';
  const { tool, ...given } = action;
  return JSON.stringify(tool === 'call' ? { input: textOf(action) } : given);
}

function decisionOf(decision: RankerDecision | undefined): TurnRecorded['decision'] {
  if (decision === undefined) return null;
  const { features, candidates, width, chosen, logprob, entropy } = decision;
  return { features: Buffer.from(features.buffer, features.byteOffset, features.byteLength), candidates, width, chosen, logprob, entropy };
}

const timingFields = ({ queueMs, retries, retryMs, serverMs }: CallTiming) => ({
  queue_ms: queueMs,
  retries,
  retry_ms: retryMs,
  server_ms: serverMs,
});

const toolTiming = (result: ToolResult | undefined): TurnRecorded['tool_timing'] =>
  result?.timing === undefined ? null : timingFields(result.timing);

const UNKNOWN = -1;

function generationTiming({ timing, stopText = '' }: PolicyTurn): TurnRecorded['generation_timing'] {
  if (timing === undefined) return null;
  return { ...timingFields(timing), first_token_ms: timing.firstTokenMs ?? UNKNOWN, stop_text: stopText };
}

const NO_ACTION = { status: 'error', errorType: 'no_action' } as const;

function callOf({ decided, result }: FinishedTurn): Pick<TurnOutcome, 'status' | 'error_type' | 'result' | 'cache_hit' | 'items'> {
  if (result !== undefined) {
    return { status: result.status, error_type: result.errorType, result: result.text, cache_hit: result.cacheHit, items: result.items };
  }
  const none = { result: '', cache_hit: false, items: [] };
  if (decided.action !== undefined) return { ...none, status: 'ok', error_type: '' };
  const { status, errorType } = decided.withoutCall ?? NO_ACTION;
  return { ...none, status, error_type: errorType };
}

const EMPTY_SHA256 = createHash('sha256').update('').digest('hex');

type SourceField = 'request_id' | 'logprobs_kind' | 'sampling' | 'model' | 'tokenizer_sha256' | 'engine' | 'token_ends';

const NO_SOURCE: NonNullable<PolicyTurn['source']> = {
  ...{ requestId: '', promptIds: [], tokenEnds: [], logprobsKind: '', sampling: '', model: '', tokenizerSha256: '', engine: '' },
};

/** What the model's server reported; empty for other policies. */
function sourceFields({ source = NO_SOURCE, logprobs = [] }: PolicyTurn): Pick<TurnOutcome, SourceField> {
  return {
    request_id: source.requestId,
    logprobs_kind: logprobs.length === 0 ? '' : source.logprobsKind,
    sampling: source.sampling,
    model: source.model,
    tokenizer_sha256: source.tokenizerSha256,
    engine: source.engine,
    token_ends: source.tokenEnds,
  };
}

/** The built-in agent makes one call per turn, shows no images, and lets every token of a completion be trained on. */
const ONE_CALL_OF_TEXT: Pick<TurnOutcome, 'loss_mask' | 'images' | 'extras' | 'more_calls'> = {
  ...{ loss_mask: [], images: [], extras: [], more_calls: [] },
};

/** Builds the outcome of a turn. */
export function turnOutcome(finished: FinishedTurn): TurnOutcome {
  const { turn, decided, generationMs, result, startedAt, latencyMs, prompt = NO_PROMPT } = finished;
  return {
    turn,
    policy_spans: decided.spans,
    prompt_tokens: decided.promptTokens,
    completion_tokens: decided.completionTokens,
    generation_ms: generationMs,
    finish_reason: decided.finishReason,
    text: decided.text,
    token_ids: decided.tokenIds ?? [],
    logprobs: decided.logprobs ?? [],
    tool: decided.action === undefined ? '' : nameOf(decided.action),
    call_id: decided.action === undefined ? '' : `call-${turn}`,
    arguments: argumentsOf(decided.action),
    ...callOf(finished),
    started_at: startedAt,
    latency_ms: latencyMs,
    result_chars: result?.text.length ?? 0,
    result_sha256: result === undefined ? EMPTY_SHA256 : digestOf(result),
    truncated: false,
    reward: finished.reward,
    decision: decisionOf(decided.decision),
    generation_timing: generationTiming(decided),
    tool_timing: toolTiming(result),
    branch_parent: prompt.branch_parent,
    prompt_keep: prompt.prompt_keep,
    prompt_ids: prompt.prompt_ids,
    prompt_sha256: prompt.prompt_sha256,
    ...sourceFields(decided),
    ...ONE_CALL_OF_TEXT,
  };
}
