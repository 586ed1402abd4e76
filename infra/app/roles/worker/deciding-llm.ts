// Turns are decided by a language model behind an OpenAI-compatible server. No tensors are loaded.
import { setFlagsFromString } from 'node:v8';
import { createBoundedMemory } from '../../../../producers/rollouts/agent/memory/bounded.ts';
import { functionPrompts } from '../../../../producers/rollouts/agent/memory/function-prompts.ts';
import type { AgentMemory } from '../../../../producers/rollouts/agent/memory/memory.ts';
import { builtInPrompts, promptNames, promptsFrom, type Prompts } from '../../../../producers/rollouts/agent/memory/prompts.ts';
import { createTranscriptMemory } from '../../../../producers/rollouts/agent/memory/transcript.ts';
import { createLlmPolicy } from '../../../../producers/rollouts/policies/llm/llm.ts';
import type { ToolKind } from '../../../../streams/core/tools.ts';
import type { Config } from '../../../config/descriptors.ts';
import { readPromptFiles } from '../../../config/prompt-files.ts';
import { createServedModel } from '../../../llm/openai-model.ts';
import type { LlmOptions } from '../../../llm/options.ts';
import { patienceOf } from '../chat-model.ts';
import type { Deciding } from './deciding.ts';
import type { RoleContext } from '../role.ts';

/** The language model of a configuration. */
export function llmOptionsOf(config: Config): LlmOptions {
  const { llmUrl: url, llmApi: api, llmModel: model, llmApiKey: apiKey, llmTemperature: temperature, llmTopP: topP } = config;
  return {
    ...{ url, api, model, apiKey, temperature, topP },
    ...{ stream: config.llmStream, logprobs: config.llmLogprobs, versionFrom: config.llmVersionFrom, goOn: config.llmGoOn },
    ...{ tokenIds: config.llmTokenIds, logprobsKind: config.llmLogprobsKind },
    ...{ tokenizerSha256: config.llmTokenizerSha256, engine: config.llmEngine },
    extra: JSON.parse(config.llmExtra) as LlmOptions['extra'],
    concurrency: config.llmConcurrency,
    ...patienceOf(config),
  };
}

function promptsOf({ llmPrompts: folder, llmCalls }: Config, tools: readonly ToolKind[]): Prompts {
  const base = llmCalls === 'tags' ? builtInPrompts(tools) : functionPrompts(tools);
  return folder === '' ? base : promptsFrom(readPromptFiles(folder, promptNames), base);
}

function memoryOf(config: Config, takes: 'chat' | 'text', tools: readonly ToolKind[]): AgentMemory {
  const { llmMemory, llmEnoughDocuments: enoughDocuments, llmEnoughCalls: enoughActs, llmCalls: calls } = config;
  const prompts = promptsOf(config, tools);
  return llmMemory === 'bounded'
    ? createBoundedMemory({ enoughDocuments, enoughActs, prompts, calls, tools })
    : createTranscriptMemory({ takes, prompts, calls, tools });
}

interface ServedParts {
  readonly context: RoleContext;
  readonly run: string;
}

/** `tools` are those that the model may call. */
export function llmDeciding({ context, run }: ServedParts, tools: readonly ToolKind[]): Deciding {
  const { config, logger, metrics } = context;
  // Such a worker waits more than it computes, and its memory is mostly texts: garbage is collected before the heap grows.
  setFlagsFromString('--optimize-for-size');
  const model = createServedModel({ ...llmOptionsOf(config), run }, { logger, metrics, random: Math.random });
  const memory = memoryOf(config, model.takes, tools);
  return {
    policy: createLlmPolicy({ model, memory, tools, maxTokensPerTurn: config.llmMaxTokens }),
    memory: memory.forget,
    newestVersion: () => model.newestVersion(),
    start: () => Promise.resolve(),
    close() {
      model.close();
      return Promise.resolve();
    },
  };
}
