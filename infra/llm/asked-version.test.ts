// Tests with an engine that reports the version of its weights only on a separate route, as vLLM does, and may get new weights at any time.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tryWithVersion } from './asked-version.ts';
import { asked, never, setUpOpenaiModel } from './openai-model.testing.ts';
import type { LlmOptions } from './options.ts';

setUpOpenaiModel();

interface Scripted {
  /** Label at each request for it, in order; the last one repeats. */
  readonly labels: readonly string[];
  readonly finishReason?: string;
  readonly answers?: object;
}

let script: Scripted;
let askedLabels: number;
let engine: Server;

beforeEach(async () => {
  askedLabels = 0;
  engine = createServer((request, response) => {
    if (request.method === 'GET') {
      const label = script.labels[Math.min(askedLabels, script.labels.length - 1)];
      askedLabels += 1;
      response.writeHead(request.url === '/weight_info' ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ weight_version: label }));
      return;
    }
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (chunk: object): void => void response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    send({ choices: [{ delta: { content: 'Vienna' }, finish_reason: null }], ...script.answers });
    send({ choices: [{ delta: {}, finish_reason: script.finishReason ?? 'stop' }], usage: { prompt_tokens: 3, completion_tokens: 2 } });
    response.end('data: [DONE]\n\n');
  });
  await new Promise<void>((resolve) => void engine.listen(0, '127.0.0.1', resolve));
});

afterEach(() => void engine.close());

async function versions(given: Scripted, route = 'route:/weight_info#weight_version') {
  script = given;
  const options: LlmOptions = {
    url: `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`,
    ...{ api: 'chat', model: 'm', apiKey: '', temperature: 1, topP: 1, stream: true, logprobs: false, extra: {}, concurrency: 1 },
    ...{ versionFrom: ['metadata.weight_version', route], run: 'mine' },
    ...{ retries: 0, retryMs: [1, 1], timeoutMs: 5_000, idleMs: 5_000 },
  };
  const tried = await tryWithVersion(asked, options, { signal: never, timed: (run) => run() });
  return { spans: (tried.ok ? tried.generation : tried.partial)?.spans, foreign: tried.foreign ?? false };
}

it.each([
  ['the same label before and after', { labels: ['mine/7'] }, 7],
  ['weights that are still loading when the request begins', { labels: ['unknown', 'unknown', 'mine/8'] }, 8],
  ['weights without a version', { labels: ['default'] }, -1],
  ['an update that aborts the answer after its first token', { labels: ['mine/7', 'mine/7', 'unknown'], finishReason: 'abort' }, 7],
  ['a version in the answer, which takes precedence', { labels: ['mine/7'], answers: { metadata: { weight_version: 'mine/6' } } }, 6],
] as const)('records one version for all tokens, -1 if unknown: %s', async (...[, given, version]) => {
  expect(await versions(given)).toEqual({ spans: [{ version, tokens: 2 }], foreign: false });
});

it.each([
  ['new weights during the generation', { labels: ['mine/7', 'mine/8'] }],
  ['an update before the first token, and an abort by the next', { labels: ['mine/7', 'mine/8', 'unknown'], finishReason: 'abort' }],
] as const)('records the oldest possible version for one token, and -1 for the others: %s', async (...[, given]) => {
  const spans = [
    { version: 7, tokens: 1 },
    { version: -1, tokens: 1 },
  ];
  expect(await versions(given)).toEqual({ spans, foreign: false });
});

it('counts a label of another run as an unknown version', async () => {
  expect(await versions({ labels: ['other/7'] })).toEqual({ spans: [{ version: -1, tokens: 2 }], foreign: true });
});

it('does not fail when the route returns an error', async () => {
  expect(await versions({ labels: ['mine/7'] }, 'route:/nowhere#weight_version')).toMatchObject({ spans: [{ version: -1, tokens: 2 }] });
});
