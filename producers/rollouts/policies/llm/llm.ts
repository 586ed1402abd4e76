// The policy of a language model: the memory builds the prompt, the model generates, and the output is parsed as a turn. It keeps no state
// between turns. Whatever the model does becomes a turn with a status. A model that returns nothing several times in a row, or refuses
// permanently, ends the attempt.
import type { DecideOptions, Observation, Policy, PolicyTurn, WithoutCall } from '../../../../streams/core/agents.ts';
import { PlatformError } from '../../../../streams/core/errors.ts';
import { baseTools, type ToolKind } from '../../../../streams/core/tools.ts';
import { CONTEXT_FULL, type Generation, type GenerationFailure, type LanguageModel } from '../../../../streams/core/models.ts';
import { callsFormatOk, readCalls, renderCalls } from '../../agent/memory/functions.ts';
import { gaveNothing, type AgentMemory, type TurnPrompt } from '../../agent/memory/memory.ts';
import { readOutput, withStop } from '../../agent/memory/output.ts';
import { questionText } from '../../agent/memory/prompts.ts';

export interface LlmPolicyOptions {
  readonly model: LanguageModel;
  readonly memory: AgentMemory;
  /** Tools whose calls count; default: search and access. */
  readonly tools?: readonly ToolKind[];
  /** Maximum tokens generated in one turn. */
  readonly maxTokensPerTurn: number;
  /** Consecutive turns without output after which the attempt ends; default 3. */
  readonly maxFailures?: number;
}

const SEEDS = 2 ** 31;

/**
 * What the model wrote, with the tags that servers remove: those around its reasoning, and the one that stopped it. Reasoning that nothing
 * follows gets no closing tag, because it is unknown whether it ended.
 */
function textOf({ text, reasoning, stopText, calls }: Generation, { stop }: TurnPrompt): string {
  const wrote = withStop(text, stop, stopText);
  if (reasoning === '') return wrote;
  return wrote === '' && calls === undefined ? `<think>${reasoning}` : `<think>${reasoning}</think>${wrote}`;
}

function failuresInARow({ history }: Observation): number {
  const last = history.findLastIndex((turn) => !gaveNothing(turn));
  return history.length - 1 - last;
}

function nothing(failure: GenerationFailure, outOfRoom: boolean): PolicyTurn {
  const withoutCall: WithoutCall = { status: failure.status, errorType: failure.errorType };
  return {
    ...{ action: undefined, text: '', spans: [], promptTokens: 0, completionTokens: 0, decision: undefined },
    ...{ finishReason: failure.errorType, withoutCall, spentTokens: 0, outOfRoom },
  };
}

/** A policy that asks a language model. */
export function createLlmPolicy(options: LlmPolicyOptions): Policy {
  const { model, memory, maxTokensPerTurn, maxFailures = 3, tools = baseTools } = options;

  function onFailure(failure: GenerationFailure, observation: Observation): PolicyTurn {
    if (failure.errorType === CONTEXT_FULL) return nothing(failure, true);
    if (failure.fatal) throw new PlatformError('MODEL_REFUSED', failure.message);
    if (failuresInARow(observation) + 1 >= maxFailures) {
      throw new PlatformError('MODEL_UNAVAILABLE', `${failure.message}; ${maxFailures} turns in a row failed`);
    }
    return nothing(failure, false);
  }

  function onGeneration(generation: Generation, ask: TurnPrompt, observation: Observation): PolicyTurn {
    const { spans, promptTokens, completionTokens, finishReason, tokenIds, logprobs } = generation;
    const content = textOf(generation, ask);
    const { calls = [] } = generation;
    const byFunctions = ask.functions !== undefined;
    return {
      ...(byFunctions ? readCalls({ calls, content, finishReason }, ask, tools) : readOutput(content, ask, { finishReason, tools })),
      ...(byFunctions ? { calls, formatOk: callsFormatOk(content, calls, tools) } : {}),
      ...{
        text: content + renderCalls(calls),
        spans,
        promptTokens,
        completionTokens,
        finishReason,
        tokenIds,
        logprobs,
        decision: undefined,
      },
      ...(generation.stopText === undefined ? {} : { stopText: generation.stopText }),
      ...(generation.source === undefined ? {} : { source: generation.source }),
      spentTokens: memory.spent(observation.history, { promptTokens, completionTokens }),
    };
  }

  async function decide(observation: Observation, { decoding, random, signal }: DecideOptions): Promise<PolicyTurn> {
    const ask = memory.ask({ ...observation, question: questionText(observation.question, observation.askedAs) });
    const outcome = await model.generate(
      {
        ...{ prompt: ask.prompt, stop: ask.stop },
        ...(ask.functions === undefined ? {} : { functions: ask.functions }),
        maxTokens: Math.max(1, Math.min(maxTokensPerTurn, observation.tokensLeft ?? maxTokensPerTurn)),
        decoding: decoding === 'greedy' ? { kind: 'greedy' } : { kind: 'sample', seed: Math.floor(random() * SEEDS) },
      },
      signal,
    );
    const turn = outcome.ok ? onGeneration(outcome.generation, ask, observation) : onFailure(outcome.failure, observation);
    return outcome.timing === undefined ? turn : { ...turn, timing: outcome.timing };
  }
  return { name: 'llm', decide };
}
