// What a policy knows about its tools: their names, which are the tags of their calls, and one line each for the prompt.
import type { Action, Tool, ToolCall } from './agents.ts';

/** A tool as a policy sees it. */
export interface ToolKind {
  /** The tag of its calls, and the value of `tool` in turns that call it. */
  readonly name: string;
  /** One line for the prompt: the syntax of the call, then its effect. */
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

/** The kinds of calls that are valid with these tools: search, access, and any additional tools. */
export const kindsOf = (tools: readonly Tool[]): readonly ToolKind[] => {
  const further = tools.filter(({ name }) => !isBaseTool(name));
  if (further.length === 0) return baseTools;
  return [...baseTools, ...further.map(({ name, usage = `<${name}> input </${name}>` }) => ({ name, usage }))];
};

/** Tags that a tool cannot use, because they have another meaning in what a model writes or reads. */
const TAKEN: ReadonlySet<string> = new Set(['answer', 'call', 'think', 'thought', 'information', 'tool_calls']);
const NAME = /^[a-z][a-z0-9_]{0,31}$/;

export const isToolName = (name: unknown): name is string => typeof name === 'string' && NAME.test(name) && !TAKEN.has(name);

/** Builds the call of a tool from its name and argument. */
export function callOf(tool: string, argument: string): ToolCall {
  if (tool === 'search') return { tool, query: argument };
  if (tool === 'access') return { tool, url: argument };
  return { tool: 'call', name: tool, input: argument };
}

/** The tag of an action: the name of the called tool, or `answer`. */
export const nameOf = (action: Action): string => (action.tool === 'call' ? action.name : action.tool);

/** The argument that a call passes to its tool. */
export function argumentOf(call: ToolCall): string {
  if ('query' in call) return call.query;
  return 'url' in call ? call.url : call.input;
}

/** The same for any action, including an answer. */
export const textOf = (action: Action): string => (action.tool === 'answer' ? action.answer : argumentOf(action));
