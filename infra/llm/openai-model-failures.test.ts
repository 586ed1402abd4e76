import { describe, expect, it } from 'vitest';
import type { GenerationOutcome } from '../../streams/core/models.ts';
import type { ScriptedReply } from '../testing/llm-server.ts';
import { asked, KEY, logged, modelOf, never, replies, says, server, setUpOpenaiModel } from './openai-model.testing.ts';

setUpOpenaiModel();

const failureOf = (outcome: GenerationOutcome) => (outcome.ok ? undefined : outcome.failure);

describe('transient failures are retried', () => {
  it.each([
    ['a full server', { kind: 'status', status: 429 }],
    ['an error of the server', { kind: 'status', status: 500, body: 'oops' }],
    ['a gateway', { kind: 'status', status: 503, body: '<html>busy</html>' }],
    ['HTML', { kind: 'raw', type: 'text/html', body: '<html>log in</html>' }],
    ['nothing at all', { kind: 'raw', type: 'application/json', body: '' }],
    ['invalid JSON', { kind: 'raw', type: 'application/json', body: '{"choices": [' }],
    ['an event that is not JSON', { kind: 'raw', type: 'text/event-stream', body: 'data: {"choices": \n\n' }],
    ['an error in the stream', { kind: 'raw', type: 'text/event-stream', body: 'data: {"error": {"message": "died"}}\n\n' }],
    ['a stream without an end', { kind: 'raw', type: 'text/event-stream', body: 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n' }],
    ['a connection that ends', { kind: 'hangs_up' }],
    ['a generation that the server interrupted', says('half', { finishReason: 'abort' })],
  ] as const)('%s', async (_name, reply) => {
    const requests = replies(reply, reply, says('at last'));
    expect(await modelOf().generate(asked, never)).toMatchObject({ ok: true, generation: { text: 'at last' } });
    expect(requests).toHaveLength(3);
  });
  it('and have their own error type when they persist', async () => {
    const kinds: readonly [ScriptedReply, string][] = [
      [{ kind: 'status', status: 429 }, 'model_http_429'],
      [{ kind: 'status', status: 500 }, 'model_http_500'],
      [{ kind: 'raw', type: 'text/html', body: '<html>' }, 'model_garbage'],
      [{ kind: 'hangs_up' }, 'model_unreachable'],
      [says('abcdefgh', { chunkTokens: 1, cutAfterChunks: 1 }), 'model_cut'],
    ];
    for (const [reply, errorType] of kinds) {
      const requests = replies(reply);
      const failure = failureOf(await modelOf().generate(asked, never));
      expect(failure).toMatchObject({ errorType, status: 'error', fatal: false });
      expect(failure?.message).toContain('(3 tries)');
      expect(requests).toHaveLength(3);
    }
  });
  it('not before the time that the server requests', async () => {
    replies({ kind: 'status', status: 429, headers: { 'retry-after': '0.2' } }, says('a'));
    const began = performance.now();
    expect((await modelOf().generate(asked, never)).ok).toBe(true);
    expect(performance.now() - began).toBeGreaterThan(195);
    expect(logged.join()).toContain('"waitMs":210');
  });
});

describe('permanent failures are not retried', () => {
  it.each([
    [401, 'model_http_401', true],
    [403, 'model_http_403', true],
    [404, 'model_http_404', true],
    [400, 'model_http_400', false],
    [422, 'model_http_422', false],
  ])('%i', async (status, errorType, fatal) => {
    const requests = replies({ kind: 'status', status });
    expect(failureOf(await modelOf().generate(asked, never))).toMatchObject({ errorType, fatal });
    expect(requests).toHaveLength(1);
  });
  it.each([
    '{"error":{"message":"This model\'s maximum context length is 32768 tokens, however you requested 40000"}}',
    '{"message":"The input (40000 tokens) is longer than the model\'s context length (32768 tokens)."}',
    '{"detail":"max_model_len 4096"}',
  ])('a prompt that is too long: %s', async (body) => {
    const requests = replies({ kind: 'status', status: 400, body });
    expect(failureOf(await modelOf().generate(asked, never))).toMatchObject({ errorType: 'model_context_full', fatal: false });
    expect(requests).toHaveLength(1);
  });
});

describe('the time limit', () => {
  it.each([
    ['of a request', { timeoutMs: 400 }],
    ['of silence', { idleMs: 400 }],
  ])('%s ends a try, which is repeated', async (_name, limits) => {
    const requests = replies({ kind: 'hangs' }, says('a'));
    expect((await modelOf(limits).generate(asked, never)).ok).toBe(true);
    expect(requests).toHaveLength(2);
  });
  it('is the error type when every try reaches it', async () => {
    replies({ kind: 'hangs' });
    expect(failureOf(await modelOf({ idleMs: 20 }).generate(asked, never))).toMatchObject({
      status: 'timeout',
      errorType: 'model_timeout',
    });
  });
  it('of silence is not reached while tokens arrive', async () => {
    replies(says('x'.repeat(60), { chunkTokens: 1, betweenMs: 20 }));
    expect((await modelOf({ idleMs: 600, retries: 0 }).generate(asked, never)).ok).toBe(true);
  });
  it('does not delay the end of a request, or of a wait, when the attempt is aborted', async () => {
    for (const reply of [{ kind: 'hangs' }, { kind: 'status', status: 429, headers: { 'retry-after': '60' } }] as const) {
      const over = new AbortController();
      replies(reply);
      const running = modelOf().generate(asked, over.signal);
      setTimeout(() => {
        over.abort();
      }, 60);
      expect(failureOf(await running)).toMatchObject({ errorType: 'model_aborted', status: 'timeout' });
    }
  });
  it('does not delay the end of a request when the model is closed', async () => {
    replies({ kind: 'hangs' });
    const model = modelOf();
    const running = model.generate(asked, never);
    setTimeout(() => {
      model.close();
    }, 30);
    expect(failureOf(await running)).toMatchObject({ errorType: 'model_aborted' });
    expect(failureOf(await model.generate(asked, never))).toMatchObject({ errorType: 'model_aborted' });
  });
});

it('sends no more requests at once than its concurrency allows', async () => {
  replies(says('a', { beforeMs: 5 }));
  const model = modelOf({ concurrency: 3 });
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => model.generate(asked, never)));
  expect(outcomes.every(({ ok }) => ok)).toBe(true);
  expect(server.seen().atOnce).toBeLessThanOrEqual(3);
});

it('never reveals the key, even if the server repeats it', async () => {
  replies({ kind: 'status', status: 401, body: JSON.stringify({ error: { message: `Incorrect API key: ${KEY}` } }) });
  const failure = failureOf(await modelOf().generate(asked, never));
  expect(failure?.message).toContain('Incorrect API key: (key)');
  replies({ kind: 'status', status: 500, body: `key ${KEY}` });
  const again = failureOf(await modelOf().generate(asked, never));
  expect(JSON.stringify([failure, again, logged])).not.toContain(KEY);
  expect(logged.length).toBeGreaterThan(0);
});

it('names the address that does not answer', async () => {
  const model = modelOf({ url: 'http://127.0.0.1:1/v1/', retries: 0 });
  const failure = failureOf(await model.generate(asked, never));
  expect(failure).toMatchObject({ errorType: 'model_unreachable' });
  expect(failure?.message).toContain('http://127.0.0.1:1/v1:');
});
