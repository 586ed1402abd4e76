// The two tools over the country profiles: no network, no clock, the same result for the same argument. Results are cached by argument,
// because the samples of a group make the same calls.
import { LRUCache } from 'lru-cache';
import type { Tool, ToolResult } from '../../streams/core/agents.ts';
import { pageAt } from './pages.ts';
import { searchFactbook, warmFactbookSearch } from './search.ts';

const TOP = 10;
const MAX_QUERY_CHARS = 2_000;

const failure = (errorType: string, text: string): ToolResult => ({ status: 'error', errorType, text, items: [], cacheHit: false });

function search(query: string): ToolResult {
  const hits = searchFactbook(query.slice(0, MAX_QUERY_CHARS), TOP);
  const items = hits.map(({ profile }) => ({ url: profile.url, title: profile.title }));
  const text = hits.map(({ profile, lines }, at) => `[Doc ${at + 1}](${profile.url}): ${profile.title}\n${lines.join('\n')}`).join('\n\n');
  return { status: 'ok', errorType: '', text: text === '' ? 'No search results are found.' : text, items, cacheHit: false };
}

function access(url: string): ToolResult {
  const page = pageAt(url.trim());
  if (page === undefined) return failure('not_found', `There is no page at ${url.slice(0, 200)}.`);
  const { profile, markdown } = page;
  return { status: 'ok', errorType: '', text: markdown, items: [{ url: profile.url, title: profile.title }], cacheHit: false };
}

/** Returns cached results where possible; every hit is the same ToolResult object. */
function cached(name: Tool['name'], run: (argument: string) => ToolResult, capacity: number): Tool {
  const results = new LRUCache<string, ToolResult>({ max: capacity });
  return {
    name,
    async call(argument, signal) {
      if (signal.aborted) return { status: 'timeout', errorType: 'aborted', text: '', items: [], cacheHit: false };
      const known = results.get(argument);
      if (known !== undefined) return known;
      const result = run(argument);
      results.set(argument, result.status === 'ok' ? { ...result, cacheHit: true } : result);
      return result;
    },
  };
}

/** Search and access over the factbook. The search index is built here (about a second), so that no turn waits for it. */
export function createFactbookTools(): readonly Tool[] {
  warmFactbookSearch();
  return [cached('search', search, 4_096), cached('access', access, 512)];
}
