// What a model wrote: its tags, its tool call, and whether it kept to the format.
import type { Action } from '../core/agents.ts';
import { baseTools, callOf, nameOf, textOf, type ToolKind } from '../core/tools.ts';
import { strip } from './normalise.ts';

const ANSWER = { name: 'answer' } as const;
const count = (text: string, part: string): number => text.split(part).length - 1;

/** Format reward of one generation: tags open and close equally often, one call at most, no other role, one </think> at most. */
export function formatOk(text: string, tools: readonly ToolKind[] = baseTools): boolean {
  let calls = 0;
  for (const { name } of [...tools, ANSWER]) {
    const opened = count(text, `<${name}>`);
    if (opened !== count(text, `</${name}>`)) return false;
    calls += opened;
  }
  return calls <= 1 && !text.includes('Assistant') && !text.includes('assistant') && count(text, '</think>') <= 1;
}

/** What the last pair of tags encloses, stripped; undefined without a pair. */
function lastEnclosed(text: string, tool: string): string | undefined {
  const [open, close] = [`<${tool}>`, `</${tool}>`];
  let found: string | undefined;
  let from = text.indexOf(open);
  while (from >= 0) {
    const end = text.indexOf(close, from + open.length);
    if (end < 0) break;
    found = strip(text.slice(from + open.length, end));
    from = text.indexOf(open, end + close.length);
  }
  return found;
}

/** The answer of a text, or undefined when it has none. */
export const extractAnswer = (text: string): string | undefined => lastEnclosed(text, 'answer');

/** The tool call of a text: the tools in their order, then the answer, the last call of its kind; undefined when there is none. */
export function parseAction(text: string, tools: readonly ToolKind[] = baseTools): Action | undefined {
  for (const { name } of tools) {
    const argument = lastEnclosed(text, name);
    if (argument !== undefined) return callOf(name, argument);
  }
  const answer = extractAnswer(text);
  return answer === undefined ? undefined : { tool: 'answer', answer };
}

/** The tags of a tool call, as parseAction reads them. */
export const renderAction = (action: Action): string => `<${nameOf(action)}> ${textOf(action)} </${nameOf(action)}>`;
