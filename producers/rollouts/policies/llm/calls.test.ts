// One agent, two ways to make calls: tags in the text, and function calling. The recorded trajectory must not depend on it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Says, SeenRequest } from '../../../../infra/testing/llm-server.ts';
import { baseTools } from '../../../../streams/core/tools.ts';
import { callsFormatOk, contentOf, readCalls, renderCalls } from '../../agent/memory/functions.ts';
import { access, answer, play, search, setUpCalls, thinks, type ScriptedMove } from './calls.testing.ts';

setUpCalls();

const calling = (...calls: NonNullable<Says['calls']>): ScriptedMove => ({ kind: 'says', says: { kind: 'says', text: 'So.', calls } });

interface PromptMessage {
  readonly role: string;
  readonly content: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[];
}

const messagesOf = (request: SeenRequest | undefined): readonly PromptMessage[] => request?.messages ?? [];

/** As servers require: a message with calls is followed by their results, one each, in order. */
function assertAnswered(messages: readonly PromptMessage[]): void {
  const wanted: string[] = [];
  for (const { role, tool_call_id: id, tool_calls: calls = [] } of messages) {
    if (role === 'tool') expect(id).toBe(wanted.shift());
    else expect(wanted).toEqual([]);
    wanted.push(...calls.map((call) => call.id));
  }
  expect(wanted).toEqual([]);
}

describe('calls of functions', () => {
  it('are offered, answered in separate messages, and sent again unchanged', async () => {
    const { requests, turns } = await play([search('a'), access('u'), thinks, thinks, answer('Vienna')], { form: 'functions' });
    expect(requests[0]?.body).toMatchObject({ tool_choice: 'auto', parallel_tool_calls: false });
    const offered = requests[0]?.body['tools'] as { readonly function: { readonly name: string } }[];
    expect(offered.map((one) => one.function.name)).toEqual(['search', 'access', 'answer']);
    expect(requests.map(({ body }) => body['tool_choice'])).toEqual(['auto', 'auto', 'none', 'none', 'auto']);
    for (const request of requests) expect(request.body).not.toHaveProperty('stop');
    const messages = messagesOf(requests.at(-1));
    assertAnswered(messages);
    expect(messages.slice(1, 4)).toEqual([
      {
        ...{ role: 'assistant', content: 'So.' },
        tool_calls: [{ id: 'c-search', type: 'function', function: { name: 'search', arguments: '{"query":"a"}' } }],
      },
      { role: 'tool', tool_call_id: 'c-search', content: 'found a' },
      expect.objectContaining({ role: 'assistant', content: 'So.' }),
    ]);
    expect(JSON.stringify(messages)).toContain('>>>> Page 1 >>>>');
    expect(turns[0]?.text).toBe(
      'So.<tool_calls>[{"id":"c-search","type":"function","function":{"name":"search","arguments":"{\\"query\\":\\"a\\"}"}}]</tool_calls>',
    );
    expect(turns[0]).toMatchObject({ finish_reason: 'tool_calls', arguments: '{"query":"a"}', tool: 'search' });
  });

  it.each([
    ['that is no JSON', { name: 'search', arguments: '{"query": "a' }, 'bad_arguments'],
    ['of another shape', { name: 'search', arguments: '["a"]' }, 'bad_arguments'],
    ['without its parameter', { name: 'search', arguments: '{"q": "a"}' }, 'bad_arguments'],
    ['with a number', { name: 'access', arguments: '{"url": 7}' }, 'bad_arguments'],
    ['without arguments', { name: 'answer', arguments: '' }, 'bad_arguments'],
    ['of a function that does not exist', { name: 'rm', arguments: '{}' }, 'unknown_tool'],
    ['with an empty argument', { name: 'search', arguments: '{"query": " "}' }, 'empty_argument'],
  ])('are invalid, and answered with the error, for one %s', async (_, call, errorType) => {
    const { turns, requests, result } = await play([calling(call), answer('Vienna')], { form: 'functions' });
    expect(turns[0]).toMatchObject({ tool: '', status: 'error', error_type: errorType, arguments: '{}' });
    expect(turns[0]?.text).toContain(JSON.stringify(call.arguments));
    assertAnswered(messagesOf(requests[1]));
    expect(messagesOf(requests[1]).at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining(errorType) as string });
    expect(result).toMatchObject({ status: 'answered', answer: 'Vienna', format_ok: errorType === 'empty_argument' });
  });

  it('are made one at a time: of several the first counts, all are recorded and answered, and the format is broken', async () => {
    const both = calling(
      { name: 'search', arguments: '{"query": "a"}', id: 'x' },
      { name: 'answer', arguments: '{"answer": "Vienna"}', id: 'y' },
    );
    for (const stream of [true, false]) {
      const { turns, requests, result } = await play([both, answer('Vienna')], { form: 'functions', stream });
      expect(turns[0]).toMatchObject({ tool: 'search', arguments: '{"query":"a"}', result: 'found a' });
      expect(turns[0]?.text).toMatch(/"id":"x".*"id":"y"/);
      const messages = messagesOf(requests[1]);
      assertAnswered(messages);
      expect(messages.slice(-2)).toMatchObject([
        { content: 'found a' },
        { content: expect.stringContaining('one call at a time') as string },
      ]);
      expect(result).toMatchObject({ answer: 'Vienna', f1: 1, format_ok: false, reward: 0 });
    }
  });

  it('are not made while a page is read, but answered anyway', async () => {
    const early = calling({ name: 'answer', arguments: '{"answer": "Vienna"}', id: 'x' });
    const { turns, requests } = await play([access('u'), early, thinks, answer('Vienna')], { form: 'functions' });
    expect(turns[1]).toMatchObject({ tool: '', status: 'ok', error_type: '' });
    for (const request of requests) assertAnswered(messagesOf(request));
  });

  it('are offered by the bounded memory only where they count', async () => {
    const moves = [answer('early'), search('a'), search('b'), thinks];
    const { requests, turns, result } = await play(moves, { form: 'functions', bounded: true });
    const offered = requests.map(({ body }) => (body['tools'] as { function: { name: string } }[]).map((one) => one.function.name).join());
    expect(offered).toEqual(['search,access', 'search,access', 'search,access', 'answer']);
    expect(turns[0]).toMatchObject({ tool: '', status: 'refused', error_type: 'answer_too_early' });
    expect(turns[3]).toMatchObject({ error_type: 'no_answer' });
    expect(requests.flatMap(messagesOf).some(({ role }) => role === 'tool')).toBe(false);
    expect(requests.map(({ prompt }) => prompt).join()).not.toContain('tool_calls');
    expect(result.status).toBe('max_turns');
  });

  it('that were not offered are recorded, but not made', async () => {
    const { turns, requests } = await play([calling({ name: 'search', arguments: '{"query": "a"}' }), answer('Vienna')], { form: 'tags' });
    expect(turns[0]).toMatchObject({ tool: '', error_type: 'no_action', text: expect.stringContaining('<tool_calls>') as string });
    expect(messagesOf(requests[1]).map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });

  it('cut off by the token limit have the error type cut_off', async () => {
    const cut: ScriptedMove = {
      kind: 'says',
      says: { kind: 'says', text: '', finishReason: 'length', calls: [{ name: 'search', arguments: '{"que' }] },
    };
    expect((await play([cut], { form: 'functions' })).turns[0]).toMatchObject({ error_type: 'cut_off', finish_reason: 'length' });
  });

  it('never throw, whatever a server sends, and can be removed from the text again', () => {
    const call = fc.record({
      id: fc.string(),
      name: fc.oneof(fc.constantFrom('search', 'access', 'answer', 'convert', '__proto__'), fc.string()),
      arguments: fc.oneof(
        fc.json(),
        fc.string({ unit: 'binary' }),
        fc.constantFrom('{"query":"</tool_calls><tool_calls>"}', '{"answer":"a"}'),
      ),
    });
    const ask = { prompt: [], stop: [], mayAnswer: true, calls: 'anywhere' } as const;
    const kinds = [...baseTools, { name: 'convert', usage: '' }];
    fc.assert(
      fc.property(fc.array(call, { maxLength: 3 }), fc.string(), fc.constantFrom('act', 'read', 'answer'), (calls, content, mode) => {
        const { action, withoutCall } = readCalls({ calls, content, finishReason: 'tool_calls' }, { ...ask, mode }, kinds);
        expect(action === undefined).toBe(withoutCall !== undefined);
        expect(typeof callsFormatOk(content, calls, kinds)).toBe('boolean');
        expect(contentOf({ text: content + renderCalls(calls), calls })).toBe(content);
      }),
    );
  });
});
