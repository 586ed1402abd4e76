// Looks the parts of a question up with the agent's own tools, in at most five searches and two pages, until what was found is
// enough. A part is answered by what the search shows, or else by the page that it leads to; a page that was read stays known.
import type { Tool, ToolResult } from '../../../streams/core/agents.ts';
import type { Profile } from '../../rollouts/tools/factbook-profiles.ts';
import type { Clause } from '../synthesis/clause.ts';
import { combine } from './combine.ts';
import type { SubQuestion } from './decompose.ts';

/** Searches for one question. */
export const MAX_SEARCHES = 5;
/** Pages opened for one question. */
export const MAX_PAGES = 2;

export interface Found {
  readonly searches: readonly { readonly query: string; readonly clause: Clause | undefined }[];
  /** URLs that were opened, in their order. */
  readonly pages: readonly string[];
  /** What was found that can be used, in its order. */
  readonly clauses: readonly Clause[];
}

export interface Researching {
  readonly search: Tool;
  readonly access: Tool;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Whether a result of the search tool shows that field of that page from its beginning. */
function shows(text: string, url: string, label: string): boolean {
  const [, ...lines] = (text.split('\n\n').find((doc) => doc.includes(`](${url}): `)) ?? '').split('\n');
  return lines.some((line) => line.startsWith(`${label}: `) && !line.startsWith(`${label}: …`));
}

const tells = (page: string, label: string): boolean => page.split('\n').some((line) => line.startsWith(`- **${label}:** `));

/** The page of one country, opened when it is first needed. */
function createReading(about: Profile, { access, signal }: Researching) {
  const pages: string[] = [];
  let read = '';
  return {
    pages,
    /** Whether the page that a search led to has the field. */
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

/** Searches for one part after the other; a part counts whose answer stands in what was found. */
export async function searchFacts(about: Profile, parts: readonly SubQuestion[], researching: Researching): Promise<Found> {
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
