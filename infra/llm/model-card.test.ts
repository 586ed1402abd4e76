// What a server reports about its model before an evaluation.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMetrics } from '../telemetry/metrics.ts';
import { startLlmServer, type LlmServer } from '../testing/llm-server.ts';
import { silentLogger } from '../testing/logger.ts';
import { modelCard, safeUrl } from './model-card.ts';
import type { LlmOptions } from './options.ts';
import { servedVersion } from './served-version.ts';

let server: LlmServer;
beforeAll(async () => (server = await startLlmServer()));
afterAll(() => server.close());
const { signal } = new AbortController();

describe('the card of a model', () => {
  const card = (model = 'm') => modelCard({ url: server.url, model, apiKey: '' }, signal);

  it('is its entry in the model list, without fields that change with every call', async () => {
    server.setModels([
      { id: 'other' },
      { id: 'm', root: '/weights/7', max_model_len: 8, created: Date.now(), permission: [{ id: 'x' }], pricing: 3 },
    ]);
    expect(await card()).toEqual({ id: 'm', root: '/weights/7', max_model_len: 8 });
    expect(await card('none')).toEqual({});
  });

  it('cannot be read from a server that is down', async () => {
    const down = modelCard({ url: 'http://user:secret@127.0.0.1:1/v1', model: 'm', apiKey: 'k' }, signal);
    await expect(down).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE', message: expect.not.stringContaining('secret') as string });
  });

  it('has an address without secrets', () => {
    expect(safeUrl('https://user:pass@host:8/v1/?key=k#x')).toBe('https://host:8/v1');
    expect(safeUrl('nonsense')).toBe('');
  });
});

describe('the version that is served', () => {
  const options = (more: Partial<LlmOptions> = {}): LlmOptions => ({
    ...{ url: server.url, api: 'chat', model: 'm', apiKey: '', temperature: 1, topP: 1, stream: false, logprobs: false, extra: {} },
    ...{ versionFrom: ['metadata.weight_version'], concurrency: 1, retries: 2, retryMs: [1, 2], timeoutMs: 5_000, idleMs: 5_000 },
    ...more,
  });
  const version = (more?: Partial<LlmOptions>) =>
    servedVersion(options(more), { signal, logger: silentLogger, metrics: createMetrics('test') });

  it('is what the server reports with a response, if it reports one', async () => {
    server.setScript(() => ({ kind: 'says', text: 'yes', naming: 'chunks' }));
    server.setVersion(7);
    expect(await version()).toBe(7);
    expect(await version({ versionFrom: [] })).toBe(-1);
    server.setScript(() => ({ kind: 'raw', body: 'no answer', type: 'application/json' }));
    expect(await version()).toBe(-1);
  });

  it('cannot be read from a server that is down or refuses', async () => {
    await expect(version({ url: 'http://127.0.0.1:1/v1' })).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
    for (const [status, code] of [
      [503, 'MODEL_UNAVAILABLE'],
      [401, 'MODEL_REFUSED'],
    ] as const) {
      // prettier-ignore
      server.setScript(() => ({ kind: 'status', status }));
      await expect(version()).rejects.toMatchObject({ code });
    }
  });
});
