// What a policy is told of its tools: their names, which are the tags of their calls, and a line for the prompt.
import type { Action, Tool, ToolCall } from './agents.ts';

/** A tool as a policy sees it. */
export interface ToolKind {
  /** The tag of its calls, and the `tool` of the turns that call it. */
  readonly name: string;
  /** One line for the prompt: how the call is written, then what it does. */
  readonly usage: string;
}

/** The tools that every agent has. */
export const search: ToolKind = {
  name: 'search',
  usage: '<search> words to look for </search> finds pages and shows a snippet and the URL of each.',
};
export const access: ToolKind = {
  name: 'access',
  usage: '<access> URL </access> opens a page and shows it piece by piece.',
};
export const baseTools: readonly ToolKind[] = [search, access];

export const isBaseTool = (name: string): boolean => baseTools.some((base) => base.name === name);

/** What calls may be written with these tools: search and access, and whatever else is there. */
export const kindsOf = (tools: readonly Tool[]): readonly ToolKind[] => {
  const further = tools.filter(({ name }) => !isBaseTool(name));
  if (further.length === 0) return baseTools;
  return [...baseTools, ...further.map(({ name, usage = `<${name}> input </${name}>` }) => ({ name, usage }))];
};

/** Tags that a tool cannot have, for they mean something else in what a model writes or reads. */
const TAKEN: ReadonlySet<string> = new Set(['answer', 'call', 'think', 'thought', 'information', 'tool_calls']);
const NAME = /^[a-z][a-z0-9_]{0,31}$/;

export const isToolName = (name: unknown): name is string => typeof name === 'string' && NAME.test(name) && !TAKEN.has(name);

/** The call of a tool by its name. */
export function callOf(tool: string, argument: string): ToolCall {
  if (tool === 'search') return { tool, query: argument };
  if (tool === 'access') return { tool, url: argument };
  return { tool: 'call', name: tool, input: argument };
}

/** The name of what an action calls, which is its tag; `answer` for an answer. */
export const nameOf = (action: Action): string => (action.tool === 'call' ? action.name : action.tool);

/** What a call passes to its tool. */
export function argumentOf(call: ToolCall): string {
  if ('query' in call) return call.query;
  return 'url' in call ? call.url : call.input;
}

/** The same for an action, whose answer goes to nobody. */
export const textOf = (action: Action): string => (action.tool === 'answer' ? action.answer : argumentOf(action));
