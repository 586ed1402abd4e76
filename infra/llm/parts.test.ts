import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildAnswer } from './answer.ts';
import { eventData, textOf } from './event-stream.ts';
import { createLimiter } from './limiter.ts';
import { retryAfterMs } from './try-once.ts';
import { scaled, trackVersions, versionOf } from './weight-versions.ts';

async function* cutInto(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const size of sizes) {
    yield bytes.subarray(from, from + size);
    from += size;
  }
  yield bytes.subarray(from);
}

async function eventsIn(text: string, sizes: readonly number[] = [], maxBytes = 1_000): Promise<string[]> {
  const found: string[] = [];
  for await (const data of eventData(textOf(cutInto(Buffer.from(text), sizes), maxBytes))) found.push(data);
  return found;
}

describe('an event stream', () => {
  it.each([
    ['one event', 'data: a\n\n', ['a']],
    ['no space after the colon', 'data:a\n\n', ['a']],
    ['several lines are one event', 'data: a\ndata: b\n\n', ['a\nb']],
    ['other fields and comments', ': hello\nevent: x\nid: 1\ndata: a\n\n: bye\n\n', ['a']],
    ['all kinds of line ends', 'data: a\r\n\r\ndata: b\r\rdata: c\n\n', ['a', 'b', 'c']],
    ['an event without an end is none', 'data: a\n\ndata: b\n', ['a']],
    ['nothing', '', []],
  ])('%s', async (_name, text, wanted) => {
    expect(await eventsIn(text)).toEqual(wanted);
  });
  it('is the same wherever its bytes are cut', async () => {
    const text = ': c\r\ndata: {"x": "müde 😀"}\r\n\r\ndata: two\ndata: lines\n\ndata: [DONE]\n\n';
    const whole = await eventsIn(text);
    expect(whole).toHaveLength(3);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 30 }), async (sizes) => {
        expect(await eventsIn(text, sizes)).toEqual(whole);
      }),
    );
  });
  it('has a bound', async () => {
    await expect(eventsIn(`data: ${'x'.repeat(2_000)}\n\n`)).rejects.toThrow('more than 1000 bytes');
  });
});

describe('a version', () => {
  it.each([
    [12, 12],
    ['12', 12],
    ['v12', 12],
    ['step-0012', 12],
    ['Qwen2.5-7B-step-12', 12],
    ['qwen2.5-7b-v9', 9],
    ['grpo-1.5b/weights_v7', 7],
    ['/ckpt/global_step_400', 400],
    ['llama3:v1.run@17', 17],
    ['Qwen2.5-7B-Instruct', -1],
    ['Qwen2.5', -1],
    ['gpt-4o', -1],
    ['gpt-4o-mini-2024-07-18', -1],
    ['model-20240718', -1],
    [20_240_718, 20_240_718],
    ['a1b2c3d4', -1],
    [0, 0],
    ['default', -1],
    ['', -1],
    [-3, -1],
    ['-3', -1],
    [1.5, -1],
    [2 ** 40, -1],
    [null, -1],
    [undefined, -1],
    [{}, -1],
    ['12 b', -1],
  ])('%j is %i', (value, wanted) => {
    expect(versionOf(value)).toBe(wanted);
  });
});

describe('the version of any name', () => {
  const name = fc.stringMatching(/^([A-Za-z]+\d?(\.\d)?[A-Za-z][-_/ ]){0,4}$/);
  it('is the number behind its last separator', () => {
    fc.assert(
      fc.property(
        name,
        fc.constantFrom('', 'v', 'step', 'step-', 'weights_v', 'iter_'),
        fc.integer({ min: 0, max: 10_000 }),
        (prefix, word, n) => {
          expect(versionOf(`${prefix}${word}${n}`)).toBe(n);
        },
      ),
    );
  });
  it('is a version or unknown, whatever it is', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(versionOf(value)).toBeGreaterThanOrEqual(-1);
        expect(Number.isInteger(versionOf(value))).toBe(true);
      }),
    );
  });
});

describe('the versions of an answer', () => {
  const paths = ['metadata.weight_versions', 'output_versions', 'metadata.weight_version', 'header:x-policy-version'];
  const named = (version: string) => ({ metadata: { weight_version: version } });
  const track = (chunks: readonly (readonly [unknown, number])[], headers = {}) => {
    const versions = trackVersions(paths);
    versions.begin(new Headers(headers));
    for (const [chunk, tokens] of chunks) versions.add(chunk, tokens);
    return versions;
  };
  it.each([
    ['nobody names one', [[{}, 3]], {}, [{ version: -1, tokens: 10 }]],
    ['no chunk at all', [], {}, [{ version: -1, tokens: 10 }]],
    ['a header', [[{}, 3]], { 'x-policy-version': '4' }, [{ version: 4, tokens: 10 }]],
    ['one for the answer', [[named('5'), 3]], {}, [{ version: 5, tokens: 10 }]],
    [
      'only the last chunk',
      [
        [{}, 9],
        [named('5'), 0],
      ],
      {},
      [{ version: 5, tokens: 10 }],
    ],
    [
      'it changes on the way',
      [
        [named('5'), 3],
        [named('6'), 2],
      ],
      {},
      [
        { version: 5, tokens: 6 },
        { version: 6, tokens: 4 },
      ],
    ],
    [
      'one holds until another is named',
      [
        [named('5'), 2],
        [{}, 1],
        [named('6'), 2],
      ],
      {},
      [
        { version: 5, tokens: 6 },
        { version: 6, tokens: 4 },
      ],
    ],
    [
      'the header names the first',
      [
        [{}, 1],
        [named('6'), 1],
      ],
      { 'x-policy-version': '5' },
      [
        { version: 5, tokens: 5 },
        { version: 6, tokens: 5 },
      ],
    ],
    [
      'a list of one a token',
      [[{ output_versions: [5, 5, 5, 6, 6] }, 5]],
      {},
      [
        { version: 5, tokens: 6 },
        { version: 6, tokens: 4 },
      ],
    ],
    [
      'spans',
      [
        [
          {
            metadata: {
              weight_versions: [
                { version: 'v1', start: 0, end: 4 },
                { version: 'v2', start: 4, end: 10 },
              ],
            },
          },
          1,
        ],
      ],
      {},
      [
        { version: 1, tokens: 4 },
        { version: 2, tokens: 6 },
      ],
    ],
    ['a name that is no number', [[named('default'), 3]], {}, [{ version: -1, tokens: 10 }]],
  ] as const)('%s', (...[, chunks, headers, wanted]) => {
    expect(track(chunks, headers).spans(10)).toEqual(wanted);
  });
  it('have all the tokens, none of them twice, in order', () => {
    const span = fc.record({ version: fc.integer({ min: -1, max: 4 }), tokens: fc.integer({ min: 0, max: 50 }) });
    fc.assert(
      fc.property(fc.array(span, { maxLength: 8 }), fc.integer({ min: 0, max: 500 }), (spans, total) => {
        const result = scaled(spans, total);
        expect(result.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(total);
        expect(result.length).toBeGreaterThan(0);
        if (total > 0) for (const { tokens } of result) expect(tokens).toBeGreaterThan(0);
        const known = spans.map(({ version }) => version);
        if (spans.length > 0) for (const { version } of result) expect(known).toContain(version);
      }),
    );
  });
});

describe('an answer', () => {
  const build = (...chunks: readonly unknown[]) => {
    const answer = buildAnswer({ promptChars: 400, versionFrom: ['v'] });
    answer.begin(new Headers());
    for (const chunk of chunks) answer.add(chunk);
    return answer;
  };
  const choice = (fields: object) => ({ choices: [fields] });
  it('is not over before the server says why it ended', () => {
    expect(build(choice({ text: 'a' })).finish()).toBeUndefined();
    expect(build().finish()).toBeUndefined();
  });
  it('names the model as its server does, where it does', () => {
    const end = { ...choice({ text: 'a', finish_reason: 'stop' }), model: 'm-2026-01-01' };
    expect(build(end, { choices: [], model: '' }).finish()).toMatchObject({ servedAs: 'm-2026-01-01' });
    expect(build(choice({ text: 'a', finish_reason: 'stop' })).finish()).not.toHaveProperty('servedAs');
  });
  it('counts four characters as a token where the server does not count', () => {
    expect(build(choice({ text: 'abcdefghij', finish_reason: 'stop' })).finish()).toMatchObject({
      ...{ text: 'abcdefghij', promptTokens: 100, completionTokens: 3, spans: [{ version: -1, tokens: 3 }], tokenIds: [], logprobs: [] },
    });
  });
  it.each([
    ['vLLM', { token_ids: [5, 6], logprobs: { token_logprobs: [-1, -2], tokens: ['a', 'b'] } }, [5, 6], [-1, -2]],
    [
      'vLLM in logprobs',
      {
        logprobs: {
          content: [
            { token: 'token_id:5', logprob: -1 },
            { token: 'token_id:6', logprob: -2 },
          ],
        },
      },
      [5, 6],
      [-1, -2],
    ],
    [
      'SGLang',
      {
        meta_info: {
          output_token_logprobs: [
            [-1, 5, 'a'],
            [-2, 6, 'b'],
          ],
        },
      },
      [5, 6],
      [-1, -2],
    ],
    ['logprobs alone', { logprobs: { content: [{ token: 'a', logprob: -1 }] } }, [], [-1]],
    ['what is no number', { logprobs: { token_logprobs: [null, -1] } }, [], [0, -1]],
    ['lists of two lengths', { token_ids: [5], logprobs: { token_logprobs: [-1, -2] } }, [], []],
  ] as const)('has the tokens of %s', (...[, fields, ids, logprobs]) => {
    expect(build(choice({ text: 'ab', finish_reason: 'stop', ...fields })).finish()).toMatchObject({ tokenIds: ids, logprobs });
  });
  it('says what went wrong in the middle of it', () => {
    expect(build({ error: { message: 'out of memory' } }).error()).toBe('out of memory');
    expect(build({ error: 'no' }).error()).toBe('no');
    expect(build({ error: {} }).error()).toBe('an error');
    expect(build({ error: null }).error()).toBe('');
  });
  it('takes any JSON', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (chunks) => {
        const answer = build(...chunks.map((one, at) => (at % 2 === 0 ? one : { choices: [one], usage: one })));
        const made = answer.finish();
        if (made !== undefined) expect(made.spans.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(made.completionTokens);
      }),
    );
  });
});

describe('the limit', () => {
  const { signal } = new AbortController();
  it('lets in as many as there is room for, in the order in which they came', async () => {
    const limiter = createLimiter(2);
    const entered: number[] = [];
    const leaves = [await limiter.enter(signal), await limiter.enter(signal)];
    const waiting = [0, 1, 2].map((which) =>
      limiter.enter(signal).then((leave) => {
        entered.push(which);
        leave?.();
      }),
    );
    expect([limiter.running(), limiter.waiting()]).toEqual([2, 3]);
    leaves[0]?.();
    leaves[0]?.();
    await Promise.all(waiting);
    expect([entered, limiter.running(), limiter.waiting()]).toEqual([[0, 1, 2], 1, 0]);
  });
  it('gives up a place that nobody wants any more', async () => {
    const limiter = createLimiter(1);
    const leave = await limiter.enter(signal);
    const gone = new AbortController();
    const entering = limiter.enter(gone.signal);
    gone.abort();
    expect(await entering).toBeUndefined();
    expect(await limiter.enter(gone.signal)).toBeUndefined();
    leave?.();
    expect([limiter.running(), limiter.waiting()]).toEqual([0, 0]);
  });
});

it.each([
  [null, 0],
  ['3', 3_000],
  ['-3', 0],
  ['0.5', 500],
  ['Thu, 01 Jan 1970 00:01:00 GMT', 50_000],
  ['soon', 0],
])('Retry-After %s', (header, wanted) => {
  expect(retryAfterMs(header, 10_000)).toBe(wanted);
});
