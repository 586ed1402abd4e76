import { expect, it } from 'vitest';
import { baseTools } from '../../../../streams/core/tools.ts';
import { functionPrompts } from './function-prompts.ts';
import { callsFormatOk, everyFunction, lookUps, readCalls } from './functions.ts';

const convert = { name: 'convert', usage: '<convert> 3 miles </convert> converts a length to kilometers.' };
const tools = [...baseTools, convert];
const ask = { mode: 'act', prompt: [], stop: [], mayAnswer: true, calls: 'anywhere' } as const;
const calling = (name: string, given: string) => [{ id: 'c', name, arguments: given }];
const read = (name: string, given: string, of = tools) =>
  readCalls({ calls: calling(name, given), content: '', finishReason: 'tool_calls' }, ask, of);

it('offers a further tool as a function that takes its input', () => {
  expect(lookUps(tools)[2]).toEqual({
    ...{ name: 'convert', description: 'converts a length to kilometers.' },
    parameters: {
      ...{ type: 'object', properties: { input: { type: 'string', description: 'Input, such as: 3 miles' } } },
      ...{ required: ['input'], additionalProperties: false },
    },
  });
  expect(everyFunction(tools).map(({ name }) => name)).toEqual(['search', 'access', 'convert', 'answer']);
  expect(lookUps([{ name: 'plain', usage: 'Does it.' }])[0]).toMatchObject({ description: 'Does it.' });
  expect(lookUps([{ name: 'bare', usage: '<bare> </bare>' }])[0]).toMatchObject({ description: 'Calls bare.' });
});

it('names a further tool in the prompts', () => {
  expect(functionPrompts(tools).transcript('?', 0)).toContain('search, access with a URL that you have seen, convert, or answer');
  expect(functionPrompts(tools).noCall('no_action')).toContain('search, access, convert and answer');
  expect(functionPrompts().noCall('no_action')).toContain('search, access and answer');
});

it('reads a call of a further tool', () => {
  expect(read('convert', '{"input": " 3 miles "}')).toEqual({ action: { tool: 'call', name: 'convert', input: '3 miles' } });
  expect(read('convert', '{"input": ""}')).toMatchObject({ withoutCall: { errorType: 'empty_argument' } });
  expect(read('convert', '{"query": "3 miles"}')).toMatchObject({ withoutCall: { errorType: 'bad_arguments' } });
  expect(read('convert', '{"input": "3 miles"}', [...baseTools])).toMatchObject({ withoutCall: { errorType: 'unknown_tool' } });
  expect(callsFormatOk('', calling('convert', '{"input": "3 miles"}'), tools)).toBe(true);
  expect(callsFormatOk('', calling('convert', '{"input": "3 miles"}'), baseTools)).toBe(false);
});
