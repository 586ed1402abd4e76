import { describe, expect, it } from 'vitest';
import type { Observation, PastTurn } from '../../../../streams/core/agents.ts';
import type {
  Generation,
  GenerationFailure,
  GenerationOutcome,
  GenerationRequest,
  LanguageModel,
} from '../../../../streams/core/models.ts';
import { createBoundedMemory } from '../../agent/memory/bounded.ts';
import { createTranscriptMemory } from '../../agent/memory/transcript.ts';
import { formatOk } from '../../../../streams/reward/format.ts';
import { createLlmPolicy } from './llm.ts';

const generation = (text: string, more: Partial<Generation> = {}): GenerationOutcome => ({
  ok: true,
  generation: {
    ...{ text, reasoning: '', finishReason: 'stop', stopText: '', promptTokens: 50, completionTokens: 10 },
    ...{ spans: [{ version: 3, tokens: 10 }], tokenIds: [], logprobs: [] },
    ...more,
  },
});
const failure = (more: Partial<GenerationFailure> = {}): GenerationOutcome => ({
  ok: false,
  failure: { status: 'error', errorType: 'model_http_500', message: 'asking m: HTTP 500', fatal: false, ...more },
});
const silence: PastTurn = { action: undefined, result: undefined, text: '', withoutCall: { status: 'error', errorType: 'model_http_500' } };
const thought: PastTurn = {
  action: undefined,
  result: undefined,
  text: 'well',
  tokens: 7,
  withoutCall: { status: 'error', errorType: 'no_action' },
};

async function decide(
  outcome: GenerationOutcome,
  more: { history?: readonly PastTurn[]; bounded?: boolean; decoding?: 'greedy'; left?: number; askedAs?: 'valid' | 'open' } = {},
) {
  const requests: GenerationRequest[] = [];
  const model: LanguageModel = {
    takes: 'text',
    async generate(request) {
      requests.push(request);
      return outcome;
    },
  };
  const memory = more.bounded === true ? createBoundedMemory() : createTranscriptMemory({ takes: 'text' });
  const policy = createLlmPolicy({ model, memory, maxTokensPerTurn: 100 });
  const history = more.history ?? [];
  const observation: Observation = {
    question: 'q?',
    turn: history.length,
    maxTurns: 9,
    history,
    ...(more.left === undefined ? {} : { tokensLeft: more.left }),
    ...(more.askedAs === undefined ? {} : { askedAs: more.askedAs }),
  };
  const options = { decoding: more.decoding ?? 'sample', random: () => 0.5, version: -1, signal: new AbortController().signal } as const;
  const turn = await policy.decide(observation, options);
  return { turn, request: requests[0]! };
}

describe('a turn of a language model', () => {
  it.each([undefined, 'valid', 'open'] as const)('mentions the validity of the question as configured: %s', async (askedAs) => {
    for (const bounded of [false, true]) {
      const { request } = await decide(generation('x'), { bounded, ...(askedAs === undefined ? {} : { askedAs }) });
      const prompt = request.prompt.map(({ text }) => text).join('');
      expect(prompt.includes('The question is valid. Find the answer that is most likely.')).toBe(askedAs === 'valid');
      expect(prompt.includes('then answer: the question is invalid.')).toBe(askedAs === 'open');
    }
  });

  it('is a call with the closing tag that the server left out, and everything known about its tokens', async () => {
    const { turn, request } = await decide(generation('so</think><search> a', { stopText: '</search>', tokenIds: [1], logprobs: [-1] }));
    expect(turn).toMatchObject({
      ...{ action: { tool: 'search', query: 'a' }, text: 'so</think><search> a</search>', finishReason: 'stop', spentTokens: 60 },
      ...{
        spans: [{ version: 3, tokens: 10 }],
        promptTokens: 50,
        completionTokens: 10,
        tokenIds: [1],
        logprobs: [-1],
        decision: undefined,
      },
    });
    expect(request).toMatchObject({
      maxTokens: 100,
      decoding: { kind: 'sample', seed: 2 ** 30 },
      stop: ['</search>', '</access>', '</answer>'],
    });
  });
  it('has the reasoning before the text', async () => {
    const { turn } = await decide(generation('<thought>t</thought><search>b</search>', { reasoning: ' <search>a</search> ' }), {
      bounded: true,
    });
    expect(turn.text).toBe('<think> <search>a</search> </think><thought>t</thought><search>b</search>');
    expect(turn.action).toEqual({ tool: 'search', query: 'b' });
  });
  it('adds nothing that was not generated: no closing tag, and no end of a thought', async () => {
    for (const stopText of ['', undefined]) {
      const { turn } = await decide(generation('<search> austria capital', { stopText }));
      expect(turn).toMatchObject({ text: '<search> austria capital', withoutCall: { status: 'error', errorType: 'unclosed_tag' } });
      expect(turn.action).toBeUndefined();
      expect(formatOk(turn.text)).toBe(false);
    }
    expect((await decide(generation('', { reasoning: 'and so', finishReason: 'length' }))).turn.text).toBe('<think>and so');
  });
  it('is greedy if requested, and has no more tokens than are left', async () => {
    const { request } = await decide(generation(''), { decoding: 'greedy', left: 30 });
    expect([request.decoding, request.maxTokens]).toEqual([{ kind: 'greedy' }, 30]);
    expect((await decide(generation(''), { left: 0 })).request.maxTokens).toBe(1);
  });
  it('counts only what the model wrote as spent tokens, with the bounded memory', async () => {
    expect((await decide(generation('x'), { bounded: true, history: [thought] })).turn.spentTokens).toBe(17);
  });
  it('has a status when nothing usable was written', async () => {
    expect((await decide(generation('well'))).turn).toMatchObject({
      action: undefined,
      withoutCall: { status: 'error', errorType: 'no_action' },
    });
  });
});

describe('a model that gives nothing', () => {
  it('is a turn with a status, and no tokens', async () => {
    const { turn } = await decide(failure({ status: 'timeout', errorType: 'model_timeout' }));
    expect(turn).toMatchObject({
      ...{ action: undefined, text: '', withoutCall: { status: 'timeout', errorType: 'model_timeout' }, finishReason: 'model_timeout' },
      ...{ spans: [], promptTokens: 0, completionTokens: 0, spentTokens: 0, outOfRoom: false },
    });
  });
  it('three times in a row ends the attempt', async () => {
    await expect(decide(failure(), { history: [silence, silence] })).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
    expect((await decide(failure(), { history: [silence, silence, thought, silence] })).turn.text).toBe('');
  });
  it('permanently ends the attempt at once', async () => {
    await expect(decide(failure({ fatal: true, message: 'asking m: HTTP 401' }))).rejects.toMatchObject({
      code: 'MODEL_REFUSED',
      message: 'asking m: HTTP 401',
    });
  });
  it('because its context is full ends the attempt as out of tokens', async () => {
    expect((await decide(failure({ errorType: 'model_context_full' }))).turn).toMatchObject({
      outOfRoom: true,
      withoutCall: { errorType: 'model_context_full' },
    });
  });
});
