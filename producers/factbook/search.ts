// BM25 over whole profiles; the snippet of a profile is the lines that match the query best.
import MiniSearch from 'minisearch';
import { factbookProfiles } from './profiles.ts';
import type { ProfileField, Profile } from './profiles.ts';

export interface Hit {
  readonly profile: Profile;
  /** Best lines, `label: text`, best first. */
  readonly lines: readonly string[];
}

const stopWords = new Set(
  'a an and are as at be by for from has have in is it its of on or that the this to was what when where which who whose will with name'.split(
    ' ',
  ),
);
const word = /[\p{L}\p{N}]+/gu;

/** Lowercase words and numbers of a text without stop words. */
function terms(text: string): string[] {
  return (text.toLowerCase().match(word) ?? []).filter((term) => !stopWords.has(term));
}

interface Lines {
  readonly fields: readonly ProfileField[];
  /** Indexes of the fields that contain a term. */
  readonly withTerm: ReadonlyMap<string, readonly number[]>;
}

interface FactbookIndex {
  readonly search: MiniSearch;
  readonly lines: Map<Profile, Lines>;
}

let index: FactbookIndex | undefined;

function build(): FactbookIndex {
  const search = new MiniSearch({ fields: ['title', 'text'], tokenize: terms, processTerm: (term) => term });
  factbookProfiles().forEach((profile, id) => {
    search.add({ id, title: profile.title, text: profile.fields.map((field) => `${field.label} ${field.text}`).join('\n') });
  });
  return { search, lines: new Map() };
}

/** Builds the index now (about a second) instead of at the first search. */
export function warmFactbookSearch(): void {
  index ??= build();
}

function linesOf(profile: Profile, lines: Map<Profile, Lines>): Lines {
  const known = lines.get(profile);
  if (known !== undefined) return known;
  const withTerm = new Map<string, number[]>();
  profile.fields.forEach((field, number) => {
    for (const term of new Set(terms(`${field.label} ${field.text}`))) {
      const numbers = withTerm.get(term);
      if (numbers === undefined) withTerm.set(term, [number]);
      else numbers.push(number);
    }
  });
  const made = { fields: profile.fields, withTerm };
  lines.set(profile, made);
  return made;
}

const SNIPPET_LINES = 2;
const SNIPPET_CHARS = 240;

/** A line, cut to a window around its first query term. */
function cut(field: ProfileField, query: readonly string[]): string {
  if (field.text.length <= SNIPPET_CHARS) return `${field.label}: ${field.text}`;
  const lower = field.text.toLowerCase();
  const places = query.map((term) => lower.indexOf(term)).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...places, lower.length) === lower.length ? 0 : Math.min(...places) - 60);
  const text = field.text.slice(start, start + SNIPPET_CHARS);
  return `${field.label}: ${start > 0 ? '…' : ''}${text}…`;
}

function bestLines(lines: Lines, query: readonly string[]): string[] {
  const scores = new Map<number, number>();
  for (const term of query) {
    const numbers = lines.withTerm.get(term) ?? [];
    for (const number of numbers) scores.set(number, (scores.get(number) ?? 0) + 1 / (1 + numbers.length));
  }
  return [...scores]
    .sort(([left, a], [right, b]) => b - a || left - right)
    .slice(0, SNIPPET_LINES)
    .flatMap(([number]) => {
      const field = lines.fields[number];
      return field === undefined ? [] : [cut(field, query)];
    });
}

/** At most `limit` profiles that match a query best; ties in the order of factbookProfiles. */
export function searchFactbook(query: string, limit: number): readonly Hit[] {
  index ??= build();
  const { search, lines } = index;
  const profiles = factbookProfiles();
  const wanted = [...new Set(terms(query))];
  if (wanted.length === 0) return [];
  return search
    .search(wanted.join(' '), { boost: { title: 2 } })
    .map((result) => ({ id: Number(result.id), score: result.score }))
    .sort((a, b) => b.score - a.score || a.id - b.id)
    .slice(0, limit)
    .flatMap(({ id }) => {
      const profile = profiles[id];
      return profile === undefined ? [] : [{ profile, lines: bestLines(linesOf(profile, lines), wanted) }];
    });
}
