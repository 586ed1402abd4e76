import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildAnswer } from './answer.ts';

describe('an answer', () => {
  const build = (...chunks: readonly unknown[]) => {
    const answer = buildAnswer({ promptChars: 400, versionFrom: ['v'] });
    answer.begin(new Headers());
    for (const chunk of chunks) answer.add(chunk);
    return answer;
  };
  const choice = (fields: object) => ({ choices: [fields] });
  it('is complete only when the server has sent the finish reason', () => {
    expect(build(choice({ text: 'a' })).finish()).toBeUndefined();
    expect(build().finish()).toBeUndefined();
  });
  it('has the model name that the server sends, if it sends one', () => {
    const end = { ...choice({ text: 'a', finish_reason: 'stop' }), model: 'm-2026-01-01' };
    expect(build(end, { choices: [], model: '' }).finish()).toMatchObject({ servedAs: 'm-2026-01-01' });
    expect(build(choice({ text: 'a', finish_reason: 'stop' })).finish()).not.toHaveProperty('servedAs');
  });
  it('counts four characters as a token if the server does not count tokens', () => {
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
    ['values that are not numbers', { logprobs: { token_logprobs: [null, -1] } }, [], []],
    ['ids with a log probability that is unknown', { token_ids: [5, 6], logprobs: { token_logprobs: [null, -1] } }, [5, 6], []],
    ['lists of two lengths', { token_ids: [5], logprobs: { token_logprobs: [-1, -2] } }, [], []],
  ] as const)('has the tokens of %s', (...[, fields, ids, logprobs]) => {
    expect(build(choice({ text: 'ab', finish_reason: 'stop', ...fields })).finish()).toMatchObject({ tokenIds: ids, logprobs });
  });
  it('has the error that the server sent in the middle of it', () => {
    expect(build({ error: { message: 'out of memory' } }).error()).toBe('out of memory');
    expect(build({ error: 'no' }).error()).toBe('no');
    expect(build({ error: {} }).error()).toBe('an error');
    expect(build({ error: null }).error()).toBe('');
  });
  it('accepts any JSON', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (chunks) => {
        const answer = build(...chunks.map((one, at) => (at % 2 === 0 ? one : { choices: [one], usage: one })));
        const made = answer.finish();
        if (made !== undefined) expect(made.spans.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(made.completionTokens);
      }),
    );
  });
});
