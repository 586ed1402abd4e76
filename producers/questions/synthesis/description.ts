// Puts descriptions into words and lists their parts. To find what a description stands for, fitting.ts queries the facts of every profile.
import type { Profile } from '../../factbook/profiles.ts';
import type { Clause, CountryDescription } from './clause.ts';
import { solve } from './fitting.ts';
import { sayNumber } from './quantities.ts';
import type { Quantity } from './quantities.ts';

/** Attributes whose value can be described by its first letter alone, with the noun that a question uses. */
export const beginnable: ReadonlyMap<string, string> = new Map([
  ['capital', 'capital'],
  ['anthem', 'national anthem'],
  ['highest_point', 'highest point'],
  ['lowest_point', 'lowest point'],
]);

/** Attributes whose value can be described by one of its words, with the phrase that a question uses. */
export const containable: ReadonlyMap<string, (word: string) => string> = new Map([
  ['capital', (word) => `whose capital has a name with the word "${word}"`],
  ['anthem', (word) => `whose national anthem has a name with the word "${word}"`],
  ['highest_point', (word) => `whose highest point has a name with the word "${word}"`],
  ['lowest_point', (word) => `whose lowest point has a name with the word "${word}"`],
  ['local_long_form', (word) => `whose local long form has the word "${word}"`],
  ['former_name', (word) => `whose former name has the word "${word}"`],
  ['anthem_lyrics', (word) => `whose national anthem has lyrics by somebody called ${word}`],
  ['anthem_music', (word) => `whose national anthem has music by somebody called ${word}`],
]);

const sayWord = (key: string, word: string): string => containable.get(key)?.(word) ?? '';

const unitOf = ({ unit }: Quantity): string => (unit === '' ? '' : ` ${unit}`);
const subject = (quantity: Quantity, year: number | undefined): string =>
  year === undefined ? `whose ${quantity.noun} is` : `whose ${quantity.noun} in ${year} was`;

function sayFigure(clause: Clause & { readonly kind: 'figure' | 'between' }): string {
  const { quantity, year } = clause;
  const figure = clause.kind === 'figure' ? sayNumber(clause.value) : `between ${sayNumber(clause.low)} and ${sayNumber(clause.high)}`;
  return `${subject(quantity, year)} ${figure}${unitOf(quantity)}`;
}

function sayClause(clause: Clause): string {
  switch (clause.kind) {
    case 'says':
      return clause.attribute.identify?.(clause.value) ?? '';
    case 'contains':
      return sayWord(clause.attribute.key, clause.word);
    case 'begins':
      return `whose ${beginnable.get(clause.attribute.key) ?? clause.attribute.label} has a name beginning with ${clause.letter}`;
    case 'figure':
    case 'between':
      return sayFigure(clause);
    case 'related':
      return `${clause.relation.clause(clause.year)} ${describe(clause.to)}`;
  }
}

/** Clauses in question order: the one that leads to another country comes last, because the text after it is about that country. */
export const inOrder = (clauses: readonly Clause[]): readonly Clause[] => [
  ...clauses.filter(({ kind }) => kind !== 'related'),
  ...clauses.filter(({ kind }) => kind === 'related'),
];

export function describe(description: CountryDescription): string {
  if (description.kind === 'name') return description.profile.title;
  const said = inOrder(description.clauses).map(sayClause);
  const last = said.at(-1) ?? '';
  const before = said.slice(0, -1);
  return `the country ${before.length === 0 ? last : `${before.join(', ')} and ${last}`}`;
}

/** The label of the field that a clause is based on. */
export const labelOf = (clause: Clause): string =>
  'attribute' in clause ? clause.attribute.label : clause.kind === 'related' ? clause.relation.label : clause.quantity.label;

/** The clauses of a description and of its nested descriptions, outermost first, with the country that each is about. */
export function clausesIn(description: CountryDescription): readonly { readonly clause: Clause; readonly of: Profile | undefined }[] {
  if (description.kind === 'name') return [];
  const [of] = solve(description);
  return description.clauses.flatMap((clause) => [{ clause, of }, ...(clause.kind === 'related' ? clausesIn(clause.to) : [])]);
}

/** The countries of a description, outermost first. */
export function countriesIn(description: CountryDescription): readonly Profile[] {
  if (description.kind === 'name') return [description.profile];
  const inner = description.clauses.flatMap((clause) => (clause.kind === 'related' ? countriesIn(clause.to) : []));
  return [...solve(description), ...inner];
}

/** The countries that are still referred to by name. */
export function namedIn(description: CountryDescription): readonly Profile[] {
  if (description.kind === 'name') return [description.profile];
  return description.clauses.flatMap((clause) => (clause.kind === 'related' ? namedIn(clause.to) : []));
}
