// Facts by the tools that the agents have too. What a tool cannot find is a reason, never an exception.
import type { Tool, ToolResult } from '../../../../streams/core/agents.ts';
import type { Said } from './ask-model.ts';

export interface FoundPage {
  readonly url: string;
  readonly title: string;
  /** Its beginning. */
  readonly text: string;
}

const PAGE_CHARS = 25_000;
/** Results that are opened until one can be read. */
const OPENED = 3;

function toolOf(tools: readonly Tool[], name: Tool['name']): Tool['call'] {
  const tool = tools.find((one) => one.name === name);
  return tool === undefined
    ? () => Promise.resolve({ status: 'error', errorType: 'no_tool', text: '', items: [], cacheHit: false } satisfies ToolResult)
    : (argument, signal) => tool.call(argument, signal);
}

/** What a search says, cut; empty when it says nothing. */
export async function searchText(tools: readonly Tool[], query: string, { chars, signal }: { chars: number; signal: AbortSignal }) {
  const result = await toolOf(tools, 'search')(query, signal);
  return result.status === 'ok' && result.items.length > 0 ? result.text.slice(0, chars) : '';
}

/** The first page that a search finds and that can be read; pages that were read before come last. */
export async function findPage(
  tools: readonly Tool[],
  { query, read }: { readonly query: string; readonly read: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<Said<FoundPage>> {
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
