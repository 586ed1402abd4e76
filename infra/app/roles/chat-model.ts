// A language model that is asked a question at a time by a command: whole answers, no stop strings of an agent.
import type { Logger } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import type { Config } from '../../config/descriptors.ts';
import { createServedModel } from '../../llm/openai-model.ts';

const RETRY_MS = [500, 30_000] as const;

/** How long and how often a language model is asked, whoever asks. */
export const patienceOf = ({ llmRetries: retries, llmTimeoutMs: timeoutMs, llmIdleMs: idleMs }: Config) =>
  ({ retries, retryMs: RETRY_MS, timeoutMs, idleMs }) as const;

export interface ChatPlace {
  readonly url: string;
  readonly name: string;
  readonly apiKey: string;
}

export interface ChatSampling {
  readonly temperature: number;
  readonly topP: number;
  /** Requests at once. */
  readonly concurrency: number;
  /** Where the version of its weights is looked for; nowhere unless given. */
  readonly versionFrom?: readonly string[];
}

/** Nothing is sent yet; close it to end every request. */
export const openChatModel = (
  { url, name, apiKey }: ChatPlace,
  sampling: ChatSampling,
  { config, ...parts }: { readonly config: Config; readonly logger: Logger; readonly metrics: Metrics },
) =>
  createServedModel(
    {
      ...{ versionFrom: [], url, api: 'chat', model: name, apiKey, ...sampling },
      ...{ stream: false, logprobs: false, extra: { stop: null }, goOn: false },
      ...patienceOf(config),
    },
    { ...parts, random: Math.random },
  );
