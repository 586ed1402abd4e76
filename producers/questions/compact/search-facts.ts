// Looks up the parts of a question with the agent's own tools, in at most five searches and two pages, until it has found enough. A part is
// answered by the search results or by the page that they lead to; a page is read once and stays known.
import type { Tool, ToolResult } from '../../../streams/core/agents.ts';
import type { Profile } from '../../factbook/profiles.ts';
import type { Clause } from '../synthesis/clause.ts';
import { combine } from './combine.ts';
import type { SubQuestion } from './decompose.ts';

/** Maximum searches per question. */
export const MAX_SEARCHES = 5;
/** Maximum pages opened per question. */
export const MAX_PAGES = 2;

export interface FactSearch {
  readonly searches: readonly { readonly query: string; readonly clause: Clause | undefined }[];
  /** Opened URLs, in order. */
  readonly pages: readonly string[];
  /** Usable clauses, in the order found. */
  readonly clauses: readonly Clause[];
}

export interface Researching {
  readonly search: Tool;
  readonly access: Tool;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Whether a search result shows that field of that page from its beginning. */
function shows(text: string, url: string, label: string): boolean {
  const [, ...lines] = (text.split('\n\n').find((doc) => doc.includes(`](${url}): `)) ?? '').split('\n');
  return lines.some((line) => line.startsWith(`${label}: `) && !line.startsWith(`${label}: …`));
}

const tells = (page: string, label: string): boolean => page.split('\n').some((line) => line.startsWith(`- **${label}:** `));

/** The page of one country, opened on first use. */
function createReading(about: Profile, { access, signal }: Researching) {
  const pages: string[] = [];
  let read = '';
  return {
    pages,
    /** Whether the page that a search found has the field. */
    async has(found: ToolResult, label: string): Promise<boolean> {
      if (read === '' && pages.length < MAX_PAGES && found.items.some(({ url }) => url === about.url)) {
        pages.push(about.url);
        const { status, text } = await access.call(about.url, signal);
        if (status === 'ok') read = text;
      }
      return tells(read, label);
    },
  };
}

/** Searches for the parts one by one; a part counts when the results contain its answer. */
export async function searchFacts(about: Profile, parts: readonly SubQuestion[], researching: Researching): Promise<FactSearch> {
  const { search, random, signal } = researching;
  const searches: { query: string; clause: Clause | undefined }[] = [];
  const clauses: Clause[] = [];
  const reading = createReading(about, researching);
  for (const { text: query, label, read } of parts.slice(0, MAX_SEARCHES)) {
    const found = await search.call(query, signal);
    const isTold = found.status === 'ok' && (shows(found.text, about.url, label) || (await reading.has(found, label)));
    const clause = isTold ? read(about, random) : undefined;
    searches.push({ query, clause });
    if (clause === undefined) continue;
    clauses.push(clause);
    if (combine(about, clauses) !== undefined) break;
  }
  return { searches, pages: reading.pages, clauses };
}
