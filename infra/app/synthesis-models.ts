// The two language models that make questions, as configured.
import type { NamedModel } from '../../producers/questions/synthesis/llm/ask-model.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Logger } from '../../streams/core/ports.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import type { Config } from '../config/descriptors.ts';
import { createServedModel } from '../llm/openai-model.ts';

const RETRY_MS = [500, 30_000] as const;
const TOP_P = 0.95;
/** A command serves no metrics. */
const noMetrics: Metrics = { count: () => undefined, set: () => undefined, observe: () => undefined };

interface Place {
  readonly url: string;
  readonly name: string;
  readonly apiKey: string;
}

export interface WriterModels {
  readonly named: { readonly generation: NamedModel; readonly checking: NamedModel };
  /** Ends every request. */
  close(): void;
}

/** Where each of the two is; a key goes to its own server only. */
function placesOf(config: Config): { readonly generation: Place; readonly checking: Place } {
  const { synthesisUrl: url, synthesisModel: name, synthesisApiKey: apiKey } = config;
  const { synthesisCheckUrl: checkUrl, synthesisCheckModel: checkName, synthesisCheckApiKey: checkKey } = config;
  const elsewhere = checkUrl !== '' && checkUrl !== url;
  return {
    generation: { url, name, apiKey },
    checking: {
      url: checkUrl === '' ? url : checkUrl,
      name: checkName === '' ? name : checkName,
      apiKey: checkKey !== '' || elsewhere ? checkKey : apiKey,
    },
  };
}

/** CONFIG_INVALID when no model is configured. Nothing is sent yet. */
export function openWriterModels(config: Config, logger: Logger): WriterModels {
  const { generation, checking } = placesOf(config);
  if (generation.url === '' || generation.name === '') {
    throw new PlatformError(
      'CONFIG_INVALID',
      'making questions with language models: set TURNSTREAM_SYNTHESIS_URL and TURNSTREAM_SYNTHESIS_MODEL, or take --writer factbook',
    );
  }
  const open = ({ url, name, apiKey }: Place) =>
    createServedModel(
      {
        ...{ url, api: 'chat', model: name, apiKey, temperature: config.synthesisTemperature, topP: TOP_P },
        ...{ stream: false, logprobs: false, extra: { stop: null }, versionFrom: [] },
        ...{ concurrency: config.synthesisConcurrency, retries: config.llmRetries, retryMs: RETRY_MS },
        ...{ timeoutMs: config.llmTimeoutMs, idleMs: config.llmIdleMs },
      },
      { logger, metrics: noMetrics, random: Math.random },
    );
  const maxTokens = config.synthesisMaxTokens;
  const [writes, checks] = [open(generation), open(checking)];
  return {
    named: {
      generation: { name: generation.name, model: writes, maxTokens },
      checking: { name: checking.name, model: checks, maxTokens },
    },
    close() {
      writes.close();
      checks.close();
    },
  };
}
