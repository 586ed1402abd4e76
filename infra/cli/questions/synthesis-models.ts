// Opens the two language models that generate and check questions.
import type { NamedModel } from '../../../producers/questions/synthesis/llm/ask-model.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { noMetrics } from '../../../streams/core/telemetry.ts';
import type { Config } from '../../config/descriptors.ts';
import { openChatModel, type ChatEndpoint } from '../../app/roles/chat-model.ts';

const TOP_P = 0.95;

export interface WriterModels {
  readonly named: { readonly generation: NamedModel; readonly checking: NamedModel };
  /** Aborts every request. */
  close(): void;
}

/** The server of each model; an API key is sent only to its own server. */
function placesOf(config: Config): { readonly generation: ChatEndpoint; readonly checking: ChatEndpoint } {
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

/** Throws CONFIG_INVALID when no model is configured. Sends no request. */
export function openWriterModels(config: Config, logger: Logger): WriterModels {
  const { generation, checking } = placesOf(config);
  if (generation.url === '' || generation.name === '') {
    throw new PlatformError(
      'CONFIG_INVALID',
      'making questions with language models: set TURNSTREAM_SYNTHESIS_URL and TURNSTREAM_SYNTHESIS_MODEL, or use --writer factbook',
    );
  }
  const { synthesisTemperature: temperature, synthesisConcurrency: concurrency, synthesisMaxTokens: maxTokens } = config;
  const open = (place: ChatEndpoint) =>
    openChatModel(place, { temperature, topP: TOP_P, concurrency }, { config, logger, metrics: noMetrics });
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
