// Shared by the tests of served models: a scripted server, and the log messages and metrics of the models.
import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach } from 'vitest';
import type { GenerationRequest } from '../../streams/core/models.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import { startLlmServer, type LlmServer, type ScriptedReply, type Says, type SeenRequest } from '../testing/llm-server.ts';
import { createServedModel, type ServedModel } from './openai-model.ts';
import type { LlmOptions } from './options.ts';

export const KEY = 'sk-very-secret-key';

export const never = new AbortController().signal;

setMaxListeners(0, never);

export const asked: GenerationRequest = {
  prompt: [
    { from: 'user', text: 'Where?' },
    { from: 'model', text: 'Looking.' },
    { from: 'user', text: 'And?' },
  ],
  stop: ['</search>', '</answer>'],
  maxTokens: 100,
  decoding: { kind: 'sample', seed: 7 },
};

export const says = (text: string, more: Partial<Says> = {}): Says => ({ kind: 'says', text, ...more });

export let server: LlmServer;

export let logged: string[];

export let counted: Record<string, number>;

let models: ServedModel[];

const metrics: Metrics = {
  count: (name, labels, by = 1) => {
    const key = `${name} ${Object.values(labels).join(' ')}`;
    counted[key] = (counted[key] ?? 0) + by;
  },
  set: () => undefined,
  observe: () => undefined,
};

const log = (fields: object, message: string): void => void logged.push(`${JSON.stringify(fields)} ${message}`);

/** Call it at the top level of a test file. */
export function setUpOpenaiModel(): void {
  beforeEach(async () => {
    server = await startLlmServer();
    [logged, counted, models] = [[], {}, []];
  });
  afterEach(async () => {
    for (const model of models) model.close();
    await server.close();
  });
}

export function modelOf(options: Partial<LlmOptions> = {}): ServedModel {
  const model = createServedModel(
    {
      ...{ url: server.url, api: 'chat', model: 'm', apiKey: KEY, temperature: 0.7, topP: 0.9, stream: true, logprobs: false, extra: {} },
      versionFrom: ['metadata.weight_versions', 'output_versions', 'metadata.weight_version', 'header:x-policy-version'],
      ...{ concurrency: 8, retries: 2, retryMs: [1, 4], timeoutMs: 5_000, idleMs: 5_000 },
      ...options,
    },
    { logger: { debug: log, info: log, warn: log, error: log, child: () => never } as never, metrics, random: () => 0.5 },
  );
  models.push(model);
  return model;
}

/** Makes the server send these replies in order and repeat the last one. The returned array collects the requests that it receives. */
export function replies(...all: readonly ScriptedReply[]): SeenRequest[] {
  const requests: SeenRequest[] = [];
  server.setScript((request) => {
    requests.push(request);
    return all[Math.min(requests.length, all.length) - 1]!;
  });
  return requests;
}
