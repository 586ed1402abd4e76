// Looks up facts with the agents' tools. A failed lookup is returned as a reason, never thrown.
import type { Tool, ToolResult } from '../../../../streams/core/agents.ts';
import type { ModelReply } from './ask-model.ts';

export interface FoundPage {
  readonly url: string;
  readonly title: string;
  /** The beginning of its text. */
  readonly text: string;
}

const PAGE_CHARS = 25_000;
/** Maximum results to open until one is readable. */
const OPENED = 3;

function toolOf(tools: readonly Tool[], name: Tool['name']): Tool['call'] {
  const tool = tools.find((one) => one.name === name);
  return tool === undefined
    ? () => Promise.resolve({ status: 'error', errorType: 'no_tool', text: '', items: [], cacheHit: false } satisfies ToolResult)
    : (argument, signal) => tool.call(argument, signal);
}

/** The text of a search result, truncated; empty when there is none. */
export async function searchText(tools: readonly Tool[], query: string, { chars, signal }: { chars: number; signal: AbortSignal }) {
  const result = await toolOf(tools, 'search')(query, signal);
  return result.status === 'ok' && result.items.length > 0 ? result.text.slice(0, chars) : '';
}

/** The first readable page that a search finds; pages that were read before are tried last. */
export async function findPage(
  tools: readonly Tool[],
  { query, read }: { readonly query: string; readonly read: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<ModelReply<FoundPage>> {
  const found = await toolOf(tools, 'search')(query, signal);
  if (found.status !== 'ok') return { ok: false, reason: `the search for "${query}" failed: ${found.errorType}` };
  const known = found.items.filter(({ url }) => read.has(url));
  const problems: string[] = [];
  for (const { url, title } of [...found.items.filter(({ url: one }) => !read.has(one)), ...known].slice(0, OPENED)) {
    const page = await toolOf(tools, 'access')(url, signal);
    if (page.status === 'ok') return { ok: true, said: { url, title, text: page.text.slice(0, PAGE_CHARS) } };
    problems.push(`${url.slice(0, 200)}: ${page.errorType}`);
  }
  return { ok: false, reason: `the search for "${query}" found no page that can be read${problems.map((one) => `; ${one}`).join('')}` };
}
