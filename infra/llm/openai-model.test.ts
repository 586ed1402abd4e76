// The model with a server that behaves correctly, and with servers that do not.
import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GenerationOutcome, GenerationRequest } from '../../streams/core/models.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import { startLlmServer, type LlmServer, type Reply, type Says, type SeenRequest } from '../testing/llm-server.ts';
import { createServedModel, type ServedModel } from './openai-model.ts';
import type { LlmOptions } from './options.ts';

const KEY = 'sk-very-secret-key';
const never = new AbortController().signal;
setMaxListeners(0, never);
const asked: GenerationRequest = {
  prompt: [
    { from: 'user', text: 'Where?' },
    { from: 'model', text: 'Looking.' },
    { from: 'user', text: 'And?' },
  ],
  stop: ['</search>', '</answer>'],
  maxTokens: 100,
  decoding: { kind: 'sample', seed: 7 },
};
const says = (text: string, more: Partial<Says> = {}): Says => ({ kind: 'says', text, ...more });

let server: LlmServer;
let logged: string[];
let counted: Record<string, number>;
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

beforeEach(async () => {
  server = await startLlmServer();
  [logged, counted, models] = [[], {}, []];
});
afterEach(async () => {
  for (const model of models) model.close();
  await server.close();
});

function modelOf(options: Partial<LlmOptions> = {}): ServedModel {
  const model = createServedModel(
    {
      ...{ url: server.url, api: 'chat', model: 'm', apiKey: KEY, temperature: 0.7, topP: 0.9, stream: true, logprobs: false, extra: {} },
      versionFrom: ['metadata.weight_versions', 'output_versions', 'metadata.weight_version', 'header:x-policy-version'],
      ...{ concurrency: 8, retries: 2, retryMs: [1, 4], timeoutMs: 5_000, idleMs: 5_000 },
      ...options,
    },
    { logger: { debug: log, info: log, warn: log, error: log, child: () => never as never } as never, metrics, random: () => 0.5 },
  );
  models.push(model);
  return model;
}

/** Sends these replies in order and repeats the last one; `requests` contains what was received. */
function replies(...all: readonly Reply[]): SeenRequest[] {
  const requests: SeenRequest[] = [];
  server.setScript((request) => {
    requests.push(request);
    return all[Math.min(requests.length, all.length) - 1]!;
  });
  return requests;
}

const failureOf = (outcome: GenerationOutcome) => (outcome.ok ? undefined : outcome.failure);
const interfaces = [
  ['chat', true],
  ['chat', false],
  ['completions', true],
  ['completions', false],
] as const;

describe.each(interfaces)('%s, streaming %s', (api, stream) => {
  it('generates, counts and ends at a stop string', async () => {
    const requests = replies(says('so <search> a b </search> more', { chunkTokens: 2 }));
    const outcome = await modelOf({ api, stream }).generate(asked, never);
    expect(outcome).toMatchObject({
      ok: true,
      generation: {
        ...{ text: 'so <search> a b ', reasoning: '', finishReason: 'stop', stopText: '</search>' },
        ...{ promptTokens: api === 'chat' ? 5 : 5, completionTokens: 4, spans: [{ version: -1, tokens: 4 }], tokenIds: [], logprobs: [] },
      },
    });
    const { body, headers } = requests[0]!;
    expect(body).toMatchObject({ model: 'm', max_tokens: 100, temperature: 0.7, top_p: 0.9, seed: 7, stop: ['</search>', '</answer>'] });
    expect(headers.authorization).toBe(`Bearer ${KEY}`);
    expect(Number(headers['content-length'])).toBeGreaterThan(100);
    if (api === 'chat') expect(requests[0]!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    else expect(body['prompt']).toBe('Where?Looking.And?');
    expect(counted).toMatchObject({ 'llm_requests_total ok': 1, 'llm_tokens_total completion': 4, 'llm_tokens_total prompt': 5 });
  });
  it('tells its queue, its retries and the time of the server apart', async () => {
    replies({ kind: 'status', status: 500 }, says('abcdefgh', { beforeMs: 300, betweenMs: 60, chunkTokens: 1 }));
    const model = modelOf({ api, stream, concurrency: 1, retryMs: [20, 20] });
    const [first, second] = await Promise.all([model.generate(asked, never), model.generate(asked, never)]);
    expect(first.timing).toMatchObject({ retries: 1 });
    expect(first.timing?.retryMs).toBeGreaterThanOrEqual(14);
    expect(first.timing?.serverMs).toBeGreaterThanOrEqual(299);
    expect(second.timing).toMatchObject({ retries: 0, retryMs: 0 });
    const waits = [first, second].map(({ timing }) => timing?.queueMs ?? 0);
    expect(Math.max(...waits), 'one waits for the other').toBeGreaterThanOrEqual(100);
    const { firstTokenMs, serverMs = 0 } = second.timing ?? {};
    if (!stream) expect(firstTokenMs).toBeUndefined();
    else {
      expect(firstTokenMs).toBeGreaterThanOrEqual(299);
      expect(firstTokenMs).toBeLessThan(serverMs - 59);
    }
    expect(counted['llm_retries_total ']).toBe(1);
  });
  it('keeps what an interrupted generation wrote, and goes on with it', async () => {
    server.setVersion(5);
    const requests = replies(
      says('so <search> ', { tokens: 'ids', naming: 'spans', finishReason: 'abort' }),
      says('Vien', { tokens: 'ids', naming: 'spans', finishReason: 'abort', swap: { afterTokens: 0, version: 6 } }),
      says('na </search> more', { tokens: 'ids', naming: 'spans' }),
    );
    const outcome = await modelOf({ api, stream, goOn: true, retries: 0 }).generate(asked, never);
    expect(outcome).toMatchObject({
      ok: true,
      generation: {
        ...{ text: 'so <search> Vienna ', finishReason: 'stop', stopText: '</search>', completionTokens: 5, tokenIds: [0, 1, 2, 0, 0] },
        spans: [
          { version: 5, tokens: 3 },
          { version: 6, tokens: 2 },
        ],
      },
    });
    expect(requests.map(({ body }) => body['max_tokens'])).toEqual([100, 97, 96]);
    expect(requests[2]?.prompt.endsWith('And?so <search> Vien') || requests[2]?.messages.at(-1)?.content === 'so <search> Vien').toBe(true);
    if (api === 'chat') expect(requests[1]?.body).toMatchObject({ continue_final_message: true, add_generation_prompt: false });
    if (api === 'chat') expect(requests[0]?.body).not.toHaveProperty('continue_final_message');
  });
  it('begins anew where it may not go on, or the server does not', async () => {
    const interrupted = says('so', { finishReason: 'abort' });
    replies(interrupted, says('anew'));
    expect(await modelOf({ api, stream, goOn: false }).generate(asked, never)).toMatchObject({ generation: { text: 'anew' } });
    const requests = replies(interrupted, { kind: 'status', status: 400 }, says('anew'));
    expect(await modelOf({ api, stream, goOn: true }).generate(asked, never)).toMatchObject({ generation: { text: 'anew' } });
    expect(requests.map(({ messages, prompt }) => messages.length + prompt.length)[2]).toBe(
      requests[0]!.messages.length + requests[0]!.prompt.length,
    );
    replies(says('x'.repeat(40), { finishReason: 'abort' }));
    expect(await modelOf({ api, stream, goOn: true }).generate({ ...asked, maxTokens: 3 }, never)).toMatchObject({
      generation: { text: 'x'.repeat(12), finishReason: 'length', completionTokens: 3 },
    });
  });
  it.each([
    ['vllm', 'so <search> a b </search> more', '</search>'],
    ['sglang', 'so <search> a b </search> more', '</search>'],
    ['vllm', 'so <search> a b', ''],
    ['sglang', 'so <search> a b', ''],
    ['nowhere', 'so <search> a b </search> more', undefined],
    ['nowhere', 'so <search> a b', undefined],
  ] as const)('knows from the field of %s which stop string ended %j', async (namesStop, text, stopText) => {
    replies(says(text, { chunkTokens: 2, namesStop }));
    const outcome = await modelOf({ api, stream }).generate(asked, never);
    expect(outcome).toMatchObject({ ok: true, generation: { finishReason: 'stop' } });
    expect(outcome.ok && outcome.generation.stopText).toBe(stopText);
    expect(outcome.ok && outcome.generation.text.trimEnd()).toBe('so <search> a b');
  });
  it('takes ids and log probabilities where there are some', async () => {
    replies(says('abcdefgh', { tokens: 'ids_in_logprobs' }));
    expect(await modelOf({ api, stream, logprobs: true }).generate(asked, never)).toMatchObject({
      generation: { tokenIds: [0, 1], logprobs: [-0.125, -0.25], completionTokens: 2 },
    });
  });
  it.each(['chunks', 'list', 'spans'] as const)(
    'knows the versions behind its tokens, named by %s, when the weights change on the way',
    async (naming) => {
      server.setVersion(5);
      replies(says('x'.repeat(80), { naming, swap: { afterTokens: 12, version: 6 }, chunkTokens: 4, tokens: 'ids' }));
      const model = modelOf({ api, stream });
      const outcome = await model.generate(asked, never);
      const whole = naming === 'chunks' && !stream;
      const spans = whole
        ? [{ version: 6, tokens: 20 }]
        : [
            { version: 5, tokens: 12 },
            { version: 6, tokens: 8 },
          ];
      expect(outcome).toMatchObject({ generation: { spans } });
      expect(model.newestVersion()).toBe(6);
    },
  );
  it('takes the version from a header, which was written when the generation began', async () => {
    server.setVersion(5);
    replies(says('x'.repeat(80), { naming: 'header', swap: { afterTokens: 12, version: 6 } }));
    expect(await modelOf({ api, stream }).generate(asked, never)).toMatchObject({ generation: { spans: [{ version: 5, tokens: 20 }] } });
  });
  it('tries again after an answer that broke off', async () => {
    const requests = replies(says('abcdefgh', { chunkTokens: 1, cutAfterChunks: 1 }), says('whole'));
    expect(await modelOf({ api, stream }).generate(asked, never)).toMatchObject({ ok: true, generation: { text: 'whole' } });
    expect(requests).toHaveLength(2);
  });
  it('is cut at max_tokens', async () => {
    replies(says('x'.repeat(80)));
    expect(await modelOf({ api, stream }).generate({ ...asked, maxTokens: 3 }, never)).toMatchObject({
      generation: { text: 'x'.repeat(12), finishReason: 'length', completionTokens: 3, stopText: '' },
    });
  });
});

describe('what a request says', () => {
  it('is greedy without chance, and adds, replaces and takes away what is configured', async () => {
    const requests = replies(says('a'));
    const extra = { top_k: 50, max_tokens: null, max_completion_tokens: 9, stop: ['x'] };
    await modelOf({ extra, apiKey: '', stream: false }).generate({ ...asked, decoding: { kind: 'greedy' } }, never);
    const { body, headers } = requests[0]!;
    expect(body).toMatchObject({ temperature: 0, top_k: 50, max_completion_tokens: 9, stop: ['x'] });
    for (const name of ['seed', 'top_p', 'max_tokens', 'stream', 'stream_options']) expect(body).not.toHaveProperty(name);
    expect(headers).not.toHaveProperty('authorization');
  });
  it('has what a reasoning model thought apart from what it wrote', async () => {
    replies(says('answer', { reasoning: 'because', chunkTokens: 1 }));
    expect(await modelOf().generate(asked, never)).toMatchObject({ generation: { text: 'answer', reasoning: 'because' } });
  });
  it.each(['chat', 'completions'] as const)('joins neighbours from the same side, by %s, whatever is in them', async (api) => {
    const requests = replies(says('a'));
    const texts = ['x"\\n\u2028', '\ud83d', '\ude00', 'y'.repeat(100_000), '', 'the prompt goes here', 'end'];
    const prompt = texts.map((text, at) => ({ from: at === 5 ? ('model' as const) : ('user' as const), text }));
    expect((await modelOf({ api }).generate({ ...asked, prompt }, never)).ok).toBe(true);
    const { messages, prompt: whole } = requests[0]!;
    const first = texts.slice(0, 5).join('');
    if (api === 'completions') expect(whole).toBe(texts.join(''));
    else
      expect(messages).toEqual([
        { role: 'user', content: first },
        { role: 'assistant', content: 'the prompt goes here' },
        { role: 'user', content: 'end' },
      ]);
  });
  it('takes a whole answer from a server that does not stream', async () => {
    replies({ kind: 'raw', type: 'application/json', body: '{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}' });
    expect(await modelOf().generate(asked, never)).toMatchObject({ ok: true, generation: { text: 'a' } });
  });
});

describe('what passes is tried again', () => {
  it.each([
    ['a full server', { kind: 'status', status: 429 }],
    ['an error of the server', { kind: 'status', status: 500, body: 'oops' }],
    ['a gateway', { kind: 'status', status: 503, body: '<html>busy</html>' }],
    ['HTML', { kind: 'raw', type: 'text/html', body: '<html>log in</html>' }],
    ['nothing at all', { kind: 'raw', type: 'application/json', body: '' }],
    ['JSON that is none', { kind: 'raw', type: 'application/json', body: '{"choices": [' }],
    ['an event that is no JSON', { kind: 'raw', type: 'text/event-stream', body: 'data: {"choices": \n\n' }],
    ['an error in the stream', { kind: 'raw', type: 'text/event-stream', body: 'data: {"error": {"message": "died"}}\n\n' }],
    ['a stream without an end', { kind: 'raw', type: 'text/event-stream', body: 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n' }],
    ['a connection that ends', { kind: 'hangs_up' }],
    ['a generation that the server interrupted', says('half', { finishReason: 'abort' })],
  ] as const)('%s', async (_name, reply) => {
    const requests = replies(reply, reply, says('at last'));
    expect(await modelOf().generate(asked, never)).toMatchObject({ ok: true, generation: { text: 'at last' } });
    expect(requests).toHaveLength(3);
  });
  it('and is a failure with a name when it does not pass', async () => {
    const kinds: readonly [Reply, string][] = [
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
  it('not before the time that the server asks for', async () => {
    replies({ kind: 'status', status: 429, headers: { 'retry-after': '0.2' } }, says('a'));
    const began = performance.now();
    expect((await modelOf().generate(asked, never)).ok).toBe(true);
    expect(performance.now() - began).toBeGreaterThan(195);
    expect(logged.join()).toContain('"waitMs":210');
  });
});

describe('what does not pass is not tried again', () => {
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

describe('time', () => {
  it.each([
    ['of a request', { timeoutMs: 400 }],
    ['of silence', { idleMs: 400 }],
  ])('%s ends, and it is tried again', async (_name, limits) => {
    const requests = replies({ kind: 'hangs' }, says('a'));
    expect((await modelOf(limits).generate(asked, never)).ok).toBe(true);
    expect(requests).toHaveLength(2);
  });
  it('runs out', async () => {
    replies({ kind: 'hangs' });
    expect(failureOf(await modelOf({ idleMs: 20 }).generate(asked, never))).toMatchObject({
      status: 'timeout',
      errorType: 'model_timeout',
    });
  });
  it('does not run out while tokens come', async () => {
    replies(says('x'.repeat(60), { chunkTokens: 1, betweenMs: 20 }));
    expect((await modelOf({ idleMs: 600, retries: 0 }).generate(asked, never)).ok).toBe(true);
  });
  it('of the attempt being over ends a request and a wait at once', async () => {
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
  it('ends with the model', async () => {
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

it('asks no more than so many at once', async () => {
  replies(says('a', { beforeMs: 5 }));
  const model = modelOf({ concurrency: 3 });
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => model.generate(asked, never)));
  expect(outcomes.every(({ ok }) => ok)).toBe(true);
  expect(server.seen().atOnce).toBeLessThanOrEqual(3);
});

it('tells nobody the key, not even when the server does', async () => {
  replies({ kind: 'status', status: 401, body: JSON.stringify({ error: { message: `Incorrect API key: ${KEY}` } }) });
  const failure = failureOf(await modelOf().generate(asked, never));
  expect(failure?.message).toContain('Incorrect API key: (key)');
  replies({ kind: 'status', status: 500, body: `key ${KEY}` });
  const again = failureOf(await modelOf().generate(asked, never));
  expect(JSON.stringify([failure, again, logged])).not.toContain(KEY);
  expect(logged.length).toBeGreaterThan(0);
});

it('says where nobody listens', async () => {
  const model = modelOf({ url: 'http://127.0.0.1:1/v1/', retries: 0 });
  const failure = failureOf(await model.generate(asked, never));
  expect(failure).toMatchObject({ errorType: 'model_unreachable' });
  expect(failure?.message).toContain('http://127.0.0.1:1/v1:');
});
