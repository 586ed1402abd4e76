// What pages and search results say about the places of a hard question: which statements they confirm or refute, and where they lead.
import type { ParsedPage, SearchHit } from './page.ts';
import type { DescribedPlace, ParsedQuestion } from './question.ts';
import { keysOf, lineOfLead, namedBy } from './relations.ts';
import type { NamedPlace, RelationLine } from './relations.ts';
import { statedBy } from './statements.ts';
import type { WordSet } from './words.ts';

/** The line of a page that the clause of a place is about. */
interface LeadLine {
  readonly named: readonly NamedPlace[];
  readonly words: WordSet;
  readonly label: string;
}

/** A place that was seen: its page, or some lines of it in search results. */
export interface Sighting {
  readonly url: string;
  readonly title: string;
  readonly keys: readonly string[];
  /** By place number and statement: whether it holds; undefined if that was not seen. */
  readonly holds: readonly (readonly (boolean | undefined)[])[];
  /** By place number. */
  readonly leads: readonly (LeadLine | undefined)[];
}

function leadOf(place: DescribedPlace, lines: readonly RelationLine[]): LeadLine | undefined {
  const line = lineOfLead(place, lines);
  return line && { named: namedBy(line, place.direction), words: line.words, label: [...line.labelWords].join(' ') };
}

function sightingOf({ places }: ParsedQuestion, { url, title }: { url: string; title: string }, lines: readonly RelationLine[]): Sighting {
  return {
    url,
    title,
    keys: keysOf(title),
    holds: places.map(({ told }) => told.map((one) => statedBy(one, lines))),
    leads: places.map((place) => leadOf(place, lines)),
  };
}

export const sightingOfPage = (question: ParsedQuestion, page: ParsedPage): Sighting => sightingOf(question, page, page.lines);

export const sightingOfHit = (question: ParsedQuestion, { item, lines }: SearchHit): Sighting =>
  sightingOf(
    question,
    item,
    lines.map((line) => ({ ...line, links: [] })),
  );

/** Two sightings of one place: what the second one does not say is taken from the first. */
export const merged = (one: Sighting, other: Sighting): Sighting => ({
  ...other,
  holds: other.holds.map((told, at) => told.map((holds, i) => holds ?? one.holds[at]?.[i])),
  leads: other.leads.map((lead, at) => lead ?? one.leads[at]),
});

/** Whether a page itself says that its place follows from another one; undefined if its line about that was not seen. */
export function followsFrom(source: Sighting, { leads }: Sighting, at: number): boolean | undefined {
  const lead = leads[at];
  if (lead === undefined) return undefined;
  if (lead.named.length > 0) return lead.named.some(({ key, isMeant }) => isMeant && (key === source.url || source.keys.includes(key)));
  return source.keys.some((key) => key.split(' ').every((word) => lead.words.has(word)));
}
