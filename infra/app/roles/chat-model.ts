// A language model for commands that ask single questions: whole answers, without the stop strings of an agent.
import type { Logger } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import type { Config } from '../../config/descriptors.ts';
import { createServedModel } from '../../llm/openai-model.ts';

const RETRY_MS = [500, 30_000] as const;

/** Timeouts and retries of all requests to language models. */
export const patienceOf = ({ llmRetries: retries, llmTimeoutMs: timeoutMs, llmIdleMs: idleMs }: Config) =>
  ({ retries, retryMs: RETRY_MS, timeoutMs, idleMs }) as const;

export interface ChatEndpoint {
  readonly url: string;
  readonly name: string;
  readonly apiKey: string;
}

export interface ChatSampling {
  readonly temperature: number;
  readonly topP: number;
  /** Maximum number of concurrent requests. */
  readonly concurrency: number;
  /** URLs to read the version of its weights from. Default: none. */
  readonly versionFrom?: readonly string[];
}

/** Opens the model without sending a request; closing it ends every request. */
export const openChatModel = (
  { url, name, apiKey }: ChatEndpoint,
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
