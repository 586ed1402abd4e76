// Looks the parts of a question up with the agent's own search tool, at most five times, until what was found is enough.
import type { Tool } from '../../../streams/core/agents.ts';
import type { Profile } from '../../rollouts/tools/factbook-profiles.ts';
import type { Clause } from '../synthesis/clause.ts';
import { combine } from './combine.ts';
import type { SubQuestion } from './decompose.ts';

/** Searches for one question. */
export const MAX_SEARCHES = 5;

export interface Found {
  readonly searches: readonly { readonly query: string; readonly clause: Clause | undefined }[];
  /** What the searches found that can be used, in their order. */
  readonly clauses: readonly Clause[];
}

/** Whether a result of the search tool shows that field of that page from its beginning. */
function shows(text: string, url: string, label: string): boolean {
  const [, ...lines] = (text.split('\n\n').find((doc) => doc.includes(`](${url}): `)) ?? '').split('\n');
  return lines.some((line) => line.startsWith(`${label}: `) && !line.startsWith(`${label}: …`));
}

/** Searches for one part after the other; a part counts whose answer stands in what was found. */
export async function searchFacts(
  about: Profile,
  parts: readonly SubQuestion[],
  { search, random, signal }: { readonly search: Tool; readonly random: () => number; readonly signal: AbortSignal },
): Promise<Found> {
  const searches: { query: string; clause: Clause | undefined }[] = [];
  const clauses: Clause[] = [];
  for (const { text: query, label, read } of parts.slice(0, MAX_SEARCHES)) {
    const { status, text } = await search.call(query, signal);
    const clause = status === 'ok' && shows(text, about.url, label) ? read(about, random) : undefined;
    searches.push({ query, clause });
    if (clause === undefined) continue;
    clauses.push(clause);
    if (combine(about, clauses) !== undefined) break;
  }
  return { searches, clauses };
}
