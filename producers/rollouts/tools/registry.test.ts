import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { toolResult, toolsOf } from '../../../infra/testing/scripted-agents.ts';
import { baseTools, isToolName, kindsOf } from '../../../streams/core/tools.ts';
import { assembleTools, builtInTools } from './registry.ts';

const source = toolsOf(() => toolResult({ text: 'of the source' }));
const baseKinds = { search: builtInTools['search']!, access: builtInTools['access']! };
const count = {
  name: 'count',
  usage: '<count> text </count> counts.',
  create: () => async (text: string) => toolResult({ text: String(text.length) }),
};

describe('the registry of tools', () => {
  it('holds the tools that every agent has, and the tool of each folder', () => {
    expect(Object.values(builtInTools)).toEqual(expect.arrayContaining([...baseTools]));
    for (const [key, { name }] of Object.entries(builtInTools)) expect([key, isToolName(name)]).toEqual([name, true]);
    const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    for (const { name } of folders) expect(Object.keys(builtInTools), `the folder ${name} is not in the registry`).toContain(name);
    expect(kindsOf(assembleTools(source, [], baseKinds))).toEqual(baseTools);
  });
  it('adds a tool with one entry', async () => {
    const tools = assembleTools(source, [], { ...baseKinds, count });
    expect(tools.map(({ name }) => name)).toEqual(['search', 'access', 'count']);
    expect(kindsOf(tools).map(({ usage }) => usage)).toEqual([...baseTools.map(({ usage }) => usage), count.usage]);
    expect((await tools[2]!.call('abc', new AbortController().signal)).text).toBe('3');
  });
});
