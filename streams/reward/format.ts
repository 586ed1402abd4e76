// Parses what a model wrote: its tags, its tool call, and whether it follows the format.
import type { Action } from '../core/agents.ts';
import { baseTools, callOf, nameOf, textOf, type ToolKind } from '../core/tools.ts';
import { strip } from './normalise.ts';

const ANSWER = { name: 'answer' } as const;
const count = (text: string, part: string): number => text.split(part).length - 1;

/** Format reward of one generation: each tag opened as often as closed, at most one call or answer, no other role, at most one </think>. */
export function formatOk(text: string, tools: readonly ToolKind[] = baseTools): boolean {
  let calls = 0;
  for (const { name } of [...tools, ANSWER]) {
    const opened = count(text, `<${name}>`);
    if (opened !== count(text, `</${name}>`)) return false;
    calls += opened;
  }
  return calls <= 1 && !text.includes('Assistant') && !text.includes('assistant') && count(text, '</think>') <= 1;
}

/** The stripped text inside the last pair of tags; undefined without a pair. */
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

/**
 * The action in a text: the last call of the first tool, in tool order, that has one, else the last answer; undefined when there is none.
 */
export function parseAction(text: string, tools: readonly ToolKind[] = baseTools): Action | undefined {
  for (const { name } of tools) {
    const argument = lastEnclosed(text, name);
    if (argument !== undefined) return callOf(name, argument);
  }
  const answer = extractAnswer(text);
  return answer === undefined ? undefined : { tool: 'answer', answer };
}

/** The inverse of parseAction: an action in its tags. */
export const renderAction = (action: Action): string => `<${nameOf(action)}> ${textOf(action)} </${nameOf(action)}>`;
