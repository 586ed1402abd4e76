// Users' own modules, as in the guides.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseQuestionLine } from '../../../../producers/questions/question-line.ts';
import { runAgent } from '../../../../producers/rollouts/agent/run-agent.ts';
import type { TurnOutcome } from '../../../../producers/rollouts/agent/turn-outcome.ts';
import { builtInTools } from '../../../../producers/rollouts/tools/registry.ts';
import { loadConfig } from '../../../config/load.ts';
import { blocksOf } from '../../../e2e/blocks.ts';
import { runOfModel } from '../../../cli/evaluate/foreign-run.ts';
import { ownDeciding, ownTools } from './own-module.ts';
import { toolsOf } from './tools-of.ts';
import { clockOf } from '../../../testing/clock.ts';

const signal = new AbortController().signal;
let dir = '';
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'turnstream-module-'))));
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

function file(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}

/** The code block of a language in a guide. */
function shown(guide: string, language: string, block = 0): string {
  const text = readFileSync(join(process.cwd(), 'infra', 'docs', 'guides', guide), 'utf8');
  return blocksOf(text, language)[block] ?? '';
}

async function answerWith(policyModule: string, toolsModule: string, source = 'module') {
  const turns: TurnOutcome[] = [];
  const { tools } = await toolsOf(loadConfig({ TURNSTREAM_TOOLS: source, TURNSTREAM_TOOLS_MODULE: toolsModule }));
  const result = await runAgent({
    policy: (await ownDeciding(policyModule)).policy,
    tools,
    task: {
      ...{ question: 'What is the capital of Austria?', answers: ['Vienna is the capital of Austria.'], aug_answers: [] },
      ...{ reward: 'f1', decoding: 'sample', policy_version: -1, max_turns: 12, max_tokens: 10_000, max_wall_ms: 10_000 },
    },
    clock: clockOf(() => 0),
    random: () => 0,
    signal,
    toolTimeoutMs: 1_000,
    onTurn: (turn) => void turns.push(turn),
  });
  return { result, turns };
}

describe('the guides', () => {
  it('show an agent and tools that answer a question', async () => {
    const agent = file('my-agent.mjs', shown('bring-your-own-agent.md', 'js'));
    const tools = file('my-tools.mjs', shown('bring-your-own-tool.md', 'js'));
    const { result, turns } = await answerWith(agent, tools);
    expect(turns.map(({ tool, status }) => `${tool} ${status}`)).toEqual(['search ok', 'access ok', 'answer ok']);
    expect(result).toMatchObject({ status: 'answered', f1: 1, reward: 1 });
  });
  it('show a tool that is added to the others', async () => {
    const convert = file('convert.mjs', shown('bring-your-own-tool.md', 'js', 1));
    const agent = file(
      'converting-agent.mjs',
      `const turn = (action) => ({ action, text: '', spans: [], promptTokens: 0, completionTokens: 1, finishReason: 'stop' });
      export default () => ({
        name: 'converting',
        async decide({ history }) {
          return turn(history.length === 0 ? { tool: 'call', name: 'convert', input: '2 nautical miles' } : { tool: 'answer', answer: history[0].result.text });
        },
      });`,
    );
    const { result, turns } = await answerWith(agent, convert, 'factbook');
    expect(turns[0]).toMatchObject({ tool: 'convert', arguments: '{"input":"2 nautical miles"}', status: 'ok', result: '3.704 km' });
    expect(result).toMatchObject({ status: 'answered', answer: '3.704 km', tool_calls: 1, tool_errors: 0 });
  });
  it('show lines of questions that can be imported', () => {
    const lines = shown('train-on-your-questions.md', 'jsonl').trim().split('\n');
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(parseQuestionLine(line)).toMatchObject({ ok: true });
  });
});

describe('a module', () => {
  it.each([
    ['nothing.mjs', undefined, 'loading TURNSTREAM_POLICY_MODULE'],
    ['broken.mjs', 'export default (', 'loading TURNSTREAM_POLICY_MODULE'],
    ['value.mjs', 'export default { name: "x" }', 'must be a function that makes a policy'],
    ['other.mjs', 'export default () => ({ name: "x" })', 'is not a policy'],
  ])('%s that makes no policy is refused with its path', async (name, text, said) => {
    const path = text === undefined ? join(dir, name) : file(name, text);
    const loading = ownDeciding(path);
    await expect(loading).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(said) as string });
    await expect(loading).rejects.toThrow(path);
  });
  it.each(['[]', '[{ name: "search", call() {} }]', '[{ name: "search", call() {} }, { name: "search", call() {} }]', 'undefined'])(
    'that makes %s does not have all tools of an agent',
    async (made) => {
      const path = file(`tools-${made.length}.mjs`, `export default () => (${made});`);
      await expect(ownTools(path, 'all')).rejects.toThrow('a list of tools with search and access among them');
    },
  );
  it.each([
    ['[]', 'nothing'],
    ['{ name: "convert", call() {} }', 'a tool without usage'],
    ['{ name: "answer", usage: "x", call() {} }', 'a tool with a reserved name'],
    ['{ name: "<a>", usage: "x", call() {} }', 'a tool whose name is not a valid tag'],
    ['{ name: "convert", usage: "x" }', 'a tool that cannot be called'],
    ['[{ name: "a", usage: "x", call() {} }, { name: "a", usage: "y", call() {} }]', 'two tools of one name'],
  ])('that makes %s is rejected: %s', async (made) => {
    const path = file(`added-${made.length}.mjs`, `export default () => (${made});`);
    await expect(ownTools(path, 'added')).rejects.toThrow('is not a tool or a list of tools');
  });
  it('adds its tools to those that are configured, and replaces one of the same name', async () => {
    const named = async (made: string) => {
      const path = file(
        `adds-${made.length}.mjs`,
        `const call = async () => ({ status: 'ok', text: 'own' });\nexport default () => (${made});`,
      );
      const { tools } = await toolsOf(loadConfig({ TURNSTREAM_TOOLS_MODULE: path }));
      const others = tools.filter(({ name }) => builtInTools[name]?.create === undefined);
      return Promise.all(others.map(async (tool) => [tool.name, (await tool.call('factbook://austria', signal)).text === 'own']));
    };
    expect(await named('{ name: "own_tool", usage: "x", call }')).toEqual([
      ['search', false],
      ['access', false],
      ['own_tool', true],
    ]);
    expect(await named('[{ name: "access", call }]')).toEqual([
      ['search', false],
      ['access', true],
    ]);
  });
  it('provides all of the tools when it replaces the configured ones', async () => {
    const path = file(
      'only.mjs',
      'const call = () => undefined;\nexport default () => [{ name: "search", call }, { name: "access", call }];',
    );
    const { tools } = await toolsOf(loadConfig({ TURNSTREAM_TOOLS: 'module', TURNSTREAM_TOOLS_MODULE: path }));
    expect(tools.map(({ name }) => name)).toEqual(['search', 'access']);
  });
  it('whose tools throw or return something invalid gives results with a status', async () => {
    const path = file(
      'faulty.mjs',
      `export default async () => [
        { name: 'search', async call(query) { if (query === 'x') throw new Error('no index'); return query === 'y' ? 7 : { status: 'ok', text: 'a' }; } },
        { name: 'access', call() { throw new Error('at once'); } },
      ];`,
    );
    const [search, access] = await ownTools(path, 'all');
    expect(await search!.call('x', signal)).toMatchObject({
      status: 'error',
      errorType: 'tool_failed',
      text: 'The tool search failed: no index',
    });
    expect(await search!.call('y', signal)).toMatchObject({ status: 'error', errorType: 'bad_result' });
    expect(await search!.call('z', signal)).toEqual({ status: 'ok', errorType: '', text: 'a', items: [], cacheHit: false });
    expect(await access!.call('u', signal)).toMatchObject({ status: 'error', errorType: 'tool_failed' });
  });
  it('has to be configured, and gives its name to the run of its evaluations', () => {
    expect(() => loadConfig({ TURNSTREAM_POLICY: 'module' })).toThrow('TURNSTREAM_POLICY module needs TURNSTREAM_POLICY_MODULE');
    expect(() => loadConfig({ TURNSTREAM_TOOLS: 'module' })).toThrow('TURNSTREAM_TOOLS module needs TURNSTREAM_TOOLS_MODULE');
    const named = (path: string): string => runOfModel(loadConfig({ TURNSTREAM_POLICY: 'module', TURNSTREAM_POLICY_MODULE: path }));
    expect(named('./My Agent.mjs')).toMatch(/^eval-my-agent-[0-9a-f]{8}$/);
    expect(named('./a.mjs')).not.toBe(named('./b/a.mjs'));
  });
});
