import { describe, expect, it } from 'vitest';
import { toolResult, toolsOf } from '../../../infra/testing/scripted-agents.ts';
import { baseTools, kindsOf } from '../../../streams/core/tools.ts';
import { assembleTools, builtInTools } from './registry.ts';

const source = toolsOf(() => toolResult({ text: 'of the source' }));
const count = {
  name: 'count',
  usage: '<count> text </count> counts.',
  create: () => async (text: string) => toolResult({ text: String(text.length) }),
};

describe('the registry of tools', () => {
  it('holds what every agent has', () => {
    expect(Object.values(builtInTools)).toEqual(baseTools);
    expect(kindsOf(assembleTools(source, []))).toEqual(baseTools);
  });
  it('adds a tool with one entry', async () => {
    const tools = assembleTools(source, [], { ...builtInTools, count });
    expect(tools.map(({ name }) => name)).toEqual(['search', 'access', 'count']);
    expect(kindsOf(tools).map(({ usage }) => usage)).toEqual([...baseTools.map(({ usage }) => usage), count.usage]);
    expect((await tools[2]!.call('abc', new AbortController().signal)).text).toBe('3');
  });
});
