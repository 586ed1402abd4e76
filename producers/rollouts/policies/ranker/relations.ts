// How a line of a page leads from one place to another: by links, or by names with a share ("Australia 18.2%").
import type { PageLine } from './page.ts';
import type { DescribedPlace } from './question.ts';
import { wordsOf } from './words.ts';

/** The words of a name, in any order: "Korea, South" is "South Korea". */
export const nameKey = (name: string): string => [...new Set(wordsOf(name))].sort().join(' ');

/** The keys under which texts name a page: its title, and the initials of a title of several words. */
export function keysOf(title: string): readonly string[] {
  const initials = title.match(/\b\p{Lu}/gu) ?? [];
  return initials.length > 1 ? [nameKey(title), initials.join('').toLowerCase()] : [nameKey(title)];
}

/** A place that a line names. */
export interface NamedPlace {
  /** The address of a link, or else the key of the name. */
  readonly key: string;
  readonly name: string;
  readonly isLink: boolean;
  /** False when the question means the one with the largest or smallest number and this is another one. */
  readonly isMeant: boolean;
}

const share = /(?:^|[,;:] )(\p{Lu}[^,;:%\d]*?) (\d+(?:\.\d+)?)%/gu;
const PREFIX = 6;

/** Words of a clause that can be in a label: compared by their first letters, so that "independent" finds "Independence". */
const stemsOf = (words: Iterable<string>): ReadonlySet<string> => new Set([...words].map((word) => word.slice(0, PREFIX)));

const shared = (lead: ReadonlySet<string>, label: ReadonlySet<string>): number => {
  const own = stemsOf(label);
  let found = 0;
  for (const stem of lead) if (own.has(stem)) found += 1;
  return found - own.size / 100;
};

/** A line that may say how places are related. */
export type RelationLine = Pick<PageLine, 'labelWords' | 'text' | 'links' | 'words'>;

interface NumberedName extends Omit<NamedPlace, 'isMeant'> {
  readonly number: number;
}

const numbered = ({ links, text }: RelationLine): readonly NumberedName[] =>
  links.length > 0
    ? links.map(({ url, name, number }) => ({ key: url, name, number, isLink: true }))
    : [...text.matchAll(share)].map(([, name = '', number]) => ({ key: nameKey(name), name, number: Number(number), isLink: false }));

const namesPlaces = (line: RelationLine): boolean => numbered(line).length > 0;

/** The line that a clause is about, preferably one that names places; undefined if no label shares a word with the clause. */
export function lineOfLead({ lead }: DescribedPlace, lines: readonly RelationLine[]): RelationLine | undefined {
  if (lead === undefined) return undefined;
  const stems = stemsOf(lead.words);
  let best: RelationLine | undefined;
  let most = 0;
  for (const line of lines) {
    const alike = shared(stems, line.labelWords);
    const fit = alike > 0 && namesPlaces(line) ? alike + 1 : alike;
    if (fit > most) [best, most] = [line, fit];
  }
  return best;
}

/** The places that a line names, for a clause that may mean the one with the largest or smallest number. */
export function namedBy(line: RelationLine, direction: number): readonly NamedPlace[] {
  const items = numbered(line);
  const numbers = items.map(({ number }) => number).filter(Number.isFinite);
  const meant = direction === 0 ? undefined : direction > 0 ? Math.max(...numbers) : Math.min(...numbers);
  return items.map(({ number, ...named }) => ({ ...named, isMeant: meant === undefined || number === meant }));
}
