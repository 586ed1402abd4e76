// Builds the results of tools.
import type { ToolItem, ToolResult } from '../../streams/core/agents.ts';
import type { CallClock } from '../lifecycle/call-clock.ts';

/** Maximum text of a page, in characters; the agents' memories read no more. */
const MAX_PAGE_CHARS = 250_000;
const MAX_DOC_CHARS = 5_000;
const MAX_QUERY_CHARS = 2_000;

export interface Doc {
  readonly url: string;
  readonly title: string;
  readonly text: string;
}

/** A normalized query; undefined when it is empty. */
export function cleanQuery(raw: string): string | undefined {
  const query = raw.trim().slice(0, MAX_QUERY_CHARS);
  return query === '' ? undefined : query;
}

export const failed = (status: ToolResult['status'], errorType: string, text: string): ToolResult => ({
  ...{ status, errorType, text },
  items: [],
  cacheHit: false,
});

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** The result of a search. */
export function found(docs: readonly Doc[], cacheHit = false): ToolResult {
  const items: ToolItem[] = docs.map(({ url, title }) => ({ url, title }));
  const blocks = docs.map(({ url, title, text }, at) => `[Doc ${at + 1}](${url}): ${title}\n${oneLine(text).slice(0, MAX_DOC_CHARS)}`);
  return { status: 'ok', errorType: '', text: blocks.join('\n\n') || 'No search results are found.', items, cacheHit };
}

/** The result of a page access. */
export function page({ url, title, text }: Doc, cacheHit = false): ToolResult {
  if (text.trim() === '') return failed('error', 'empty_page', `There is no text at ${url.slice(0, 200)}.`);
  return { status: 'ok', errorType: '', text: text.slice(0, MAX_PAGE_CHARS), items: [{ url, title }], cacheHit };
}

/** Adds the timing of the call. */
export const timed = (result: ToolResult, clock: CallClock): ToolResult => ({ ...result, timing: clock.timing() });
