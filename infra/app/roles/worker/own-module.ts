// Policies and tools of users: modules whose default export creates one.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { noResult } from '../../../../producers/rollouts/agent/call-tool.ts';
import type { Policy, Tool, ToolResult } from '../../../../streams/core/agents.ts';
import { messageOf, PlatformError } from '../../../../streams/core/errors.ts';
import { baseTools, isBaseTool, isToolName } from '../../../../streams/core/tools.ts';
import type { Deciding } from './deciding.ts';

const statuses: ReadonlySet<unknown> = new Set<ToolResult['status']>(['ok', 'error', 'timeout', 'refused']);

type ModuleLocation = { readonly path: string; readonly variable: string };

/** Calls the default export of a module. Throws CONFIG_INVALID with the name of the variable when the result fails `is`. */
async function make<T>({ path, variable }: ModuleLocation, is: (made: unknown) => made is T, wanted: string): Promise<T> {
  const from = `${variable} ${path}`;
  const loaded = (await import(pathToFileURL(resolve(path)).href).catch((cause: unknown) => {
    throw new PlatformError('CONFIG_INVALID', `loading ${from}: ${messageOf(cause)}`, { cause });
  })) as { readonly default?: unknown };
  if (typeof loaded.default !== 'function') {
    throw new PlatformError('CONFIG_INVALID', `loading ${from}: its default export must be a function that makes ${wanted}`);
  }
  const made: unknown = await (loaded.default as () => unknown)();
  if (is(made)) return made;
  throw new PlatformError('CONFIG_INVALID', `loading ${from}: what its default export makes is not ${wanted}`);
}

const has = <K extends string>(value: unknown, name: K): value is Record<K, unknown> =>
  typeof value === 'object' && value !== null && name in value;

const isPolicy = (made: unknown): made is Policy =>
  has(made, 'name') && typeof made.name === 'string' && has(made, 'decide') && typeof made.decide === 'function';

/** Every policy knows search and access; other tools need a usage text. */
const isTool = (made: unknown): made is Tool =>
  has(made, 'name') &&
  isToolName(made.name) &&
  (isBaseTool(made.name) || (has(made, 'usage') && typeof made.usage === 'string' && made.usage !== '')) &&
  has(made, 'call') &&
  typeof made.call === 'function';

const areTools = (made: unknown): made is readonly Tool[] =>
  Array.isArray(made) && made.length > 0 && made.every(isTool) && new Set(made.map(({ name }) => name)).size === made.length;

const areAllTools = (made: unknown): made is readonly Tool[] =>
  areTools(made) && baseTools.every(({ name }) => made.some((tool) => tool.name === name));

const areAddedTools = (made: unknown): made is Tool | readonly Tool[] => isTool(made) || areTools(made);

/** The module's versions are unknown: each turn names the version that it comes from. */
export async function ownDeciding(path: string): Promise<Deciding> {
  const place = { path, variable: 'TURNSTREAM_POLICY_MODULE' };
  return {
    policy: await make(place, isPolicy, 'a policy: { name, decide(observation, options) }'),
    newestVersion: () => -1,
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

const isResult = (made: unknown): made is Partial<ToolResult> & Pick<ToolResult, 'status' | 'text'> =>
  has(made, 'text') && typeof made.text === 'string' && has(made, 'status') && statuses.has(made.status);

/** Turns an exception into a result with the status error, and fills in defaults for missing fields. */
const guarded = (tool: Tool): Tool => ({
  name: tool.name,
  ...(tool.usage === undefined ? {} : { usage: tool.usage }),
  async call(argument, signal) {
    try {
      const made: unknown = await tool.call(argument, signal);
      if (!isResult(made)) return noResult('error', 'bad_result', `The tool ${tool.name} returned something that is not a result.`);
      return { ...{ errorType: made.status === 'ok' ? '' : 'tool_failed', items: [], cacheHit: false }, ...made };
    } catch (error) {
      return noResult('error', 'tool_failed', `The tool ${tool.name} failed: ${messageOf(error)}`);
    }
  },
});

/** The tools of a module: all tools of the agent, or additional ones. They never throw, whatever the module does. */
export async function ownTools(path: string, as: 'all' | 'added'): Promise<readonly Tool[]> {
  const place = { path, variable: 'TURNSTREAM_TOOLS_MODULE' };
  const each = '{ name, usage, call(input, signal) }, where search and access need no usage';
  const made =
    as === 'all'
      ? await make(place, areAllTools, `a list of tools with search and access among them, each ${each}`)
      : await make(place, areAddedTools, `a tool or a list of tools, each ${each}`);
  return [made].flat().map(guarded);
}
