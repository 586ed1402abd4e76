// The model with a server that behaves correctly, and with servers that do not.
import { describe, expect, it } from 'vitest';
import { asked, counted, KEY, logged, modelOf, never, replies, says, server, setUpOpenaiModel } from './openai-model.testing.ts';

setUpOpenaiModel();

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
  it('measures its queue, its retries, and the time of the server separately', async () => {
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
  it('keeps the text of an interrupted generation, and continues it', async () => {
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
    expect(outcome.timing, 'parts that are kept are no failed tries').toMatchObject({ retries: 0, retryMs: 0 });
    expect(requests.map(({ body }) => body['max_tokens'])).toEqual([100, 97, 96]);
    expect(requests[2]?.prompt.endsWith('And?so <search> Vien') || requests[2]?.messages.at(-1)?.content === 'so <search> Vien').toBe(true);
    if (api === 'chat') expect(requests[1]?.body).toMatchObject({ continue_final_message: true, add_generation_prompt: false });
    if (api === 'chat') expect(requests[0]?.body).not.toHaveProperty('continue_final_message');
  });
  it('starts over if it may not continue, or the server refuses to', async () => {
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
  it('reads token ids and log probabilities if the server sends them', async () => {
    replies(says('abcdefgh', { tokens: 'ids_in_logprobs' }));
    expect(await modelOf({ api, stream, logprobs: true }).generate(asked, never)).toMatchObject({
      generation: { tokenIds: [0, 1], logprobs: [-0.125, -0.25], completionTokens: 2 },
    });
  });
  it.each(['chunks', 'list', 'spans'] as const)(
    'knows the versions of its tokens, reported in %s, when the weights change meanwhile',
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
  it('retries after an answer that broke off', async () => {
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

describe('a request', () => {
  it('is greedy without randomness, and adds, replaces, and removes the configured fields', async () => {
    const requests = replies(says('a'));
    const extra = { top_k: 50, max_tokens: null, max_completion_tokens: 9, stop: ['x'] };
    await modelOf({ extra, apiKey: '', stream: false }).generate({ ...asked, decoding: { kind: 'greedy' } }, never);
    const { body, headers } = requests[0]!;
    expect(body).toMatchObject({ temperature: 0, top_k: 50, max_completion_tokens: 9, stop: ['x'] });
    for (const name of ['seed', 'top_p', 'max_tokens', 'stream', 'stream_options']) expect(body).not.toHaveProperty(name);
    expect(headers).not.toHaveProperty('authorization');
  });
  it('returns the reasoning of a model separately from its text', async () => {
    replies(says('answer', { reasoning: 'because', chunkTokens: 1 }));
    expect(await modelOf().generate(asked, never)).toMatchObject({ generation: { text: 'answer', reasoning: 'because' } });
  });
  it.each(['chat', 'completions'] as const)('joins neighboring parts of the same sender, for %s, whatever they contain', async (api) => {
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
  it('warns once about a server that does not report stop strings, unless the model closes its tags or the server keeps them', async () => {
    const warnings = async (extra: Readonly<Record<string, unknown>>): Promise<number> => {
      const before = logged.length;
      const answer = says('a <search> b </search> c', { namesStop: 'nowhere' });
      replies(answer, answer);
      const model = modelOf({ extra });
      for (let count = 0; count < 2; count += 1) await model.generate(asked, never);
      return logged.slice(before).filter((line) => line.includes('which stop string')).length;
    };
    expect(await warnings({})).toBe(1);
    expect(await warnings({ stop: null })).toBe(0);
    expect(await warnings({ include_stop_str_in_output: true })).toBe(0);
  });
  it('takes the version of weights labeled for another run as unknown, counts them, and warns once', async () => {
    const answer = (label: string): string =>
      JSON.stringify({ choices: [{ message: { content: 'a' }, finish_reason: 'stop' }], metadata: { weight_version: label } });
    const bodies = ['run-a/4', 'run-b/9', 'run-b/10'].map(
      (label) => ({ kind: 'raw', type: 'application/json', body: answer(label) }) as const,
    );
    replies(...bodies);
    const model = modelOf({ run: 'run-a' });
    const versions = [];
    for (const _ of bodies) {
      const outcome = await model.generate(asked, never);
      versions.push(...(outcome.ok ? outcome.generation.spans : []).map(({ version }) => version));
    }
    expect(versions).toEqual([4, -1, -1]);
    expect(model.newestVersion()).toBe(4);
    expect(counted['llm_foreign_versions_total ']).toBe(2);
    expect(logged.filter((line) => line.includes('labeled for another run'))).toHaveLength(1);
  });
  it('accepts a whole answer from a server that does not stream', async () => {
    replies({ kind: 'raw', type: 'application/json', body: '{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}' });
    expect(await modelOf().generate(asked, never)).toMatchObject({ ok: true, generation: { text: 'a' } });
  });
});
