// Finds the profiles that fit a description, in two modes. To prove that no other profile fits, every profile that may fit counts,
// including those with an unclear field or a figure for another year. To prove that another profile fits as well, only profiles that
// certainly fit count.
import { factbookProfiles, fieldOf } from '../../factbook/profiles.ts';
import type { Profile } from '../../factbook/profiles.ts';
import { valuesOf } from '../attributes.ts';
import type { Attribute } from '../attributes.ts';
import { countries } from '../chains.ts';
import { spaced } from './clause.ts';
import type { Clause, CountryDescription } from './clause.ts';
import { figuresOf, yearOf } from './quantities.ts';
import type { QuantityFigure, Quantity } from './quantities.ts';
import type { Relation } from './relations.ts';

type Surety = 'may' | 'surely';
type Profiles = ReadonlySet<Profile>;

const known = new Map<string, Profiles>();

function remembered(key: string, find: () => Iterable<Profile>): Profiles {
  const before = known.get(key);
  if (before !== undefined) return before;
  const found = new Set(find());
  known.set(key, found);
  return found;
}

let inhabited: Profiles | undefined;
const single = (): Profiles => (inhabited ??= new Set(countries()));

/** Profiles that may fit include oceans and the world; profiles that surely fit must be countries. */
const among = (surety: Surety): Iterable<Profile> => (surety === 'may' ? factbookProfiles() : single());
const filtered = (surety: Surety, fits: (profile: Profile) => boolean): readonly Profile[] => [...among(surety)].filter(fits);

const fieldWords = new Map<string, ReadonlyMap<Profile, string>>();

function wordsOf(label: string): ReadonlyMap<Profile, string> {
  const before = fieldWords.get(label);
  if (before !== undefined) return before;
  const made = new Map(factbookProfiles().map((profile) => [profile, spaced(fieldOf(profile, label) ?? '')]));
  fieldWords.set(label, made);
  return made;
}

function saying(attribute: Attribute, value: string, surety: Surety): Profiles {
  const said = spaced(value);
  return remembered(`${surety}/says/${attribute.key}/${said}`, () => {
    if (said === '  ') return [];
    const words = wordsOf(attribute.label);
    if (surety === 'may') return filtered(surety, (profile) => (words.get(profile) ?? '').includes(said));
    return filtered(surety, (profile) => valuesOf(profile, attribute).some((one) => spaced(one).includes(said)));
  });
}

const letterOf = (value: string): string => /\p{L}/u.exec(value)?.[0].toUpperCase() ?? '';

/** The first letter of a value if it is a capital. */
export const initialOf = (value: string): string | undefined => (/^\p{Lu}/u.test(value) ? letterOf(value) : undefined);

function beginning(attribute: Attribute, letter: string, surety: Surety): Profiles {
  return remembered(`${surety}/begins/${attribute.key}/${letter}`, () =>
    filtered(surety, (profile) => {
      const text = fieldOf(profile, attribute.label);
      if (text === undefined) return false;
      const values = valuesOf(profile, attribute);
      if (values.length !== 1) return surety === 'may' && text.toUpperCase().includes(letter);
      return values.some((value) => letterOf(value) === letter);
    }),
  );
}

interface QuantityBounds {
  readonly quantity: Quantity;
  readonly year: number | undefined;
  readonly low: number;
  readonly high: number;
}

/** Not cached: the same bounds rarely occur twice. */
function within(bounds: QuantityBounds, surety: Surety): Profiles {
  const found = new Set<Profile>();
  const isFit = surety === 'may' ? mayBeWithin : isWithin;
  for (const [profile, figure] of figuresOf(bounds.quantity)) {
    if (isFit(figure, bounds) && (surety === 'may' || single().has(profile))) found.add(profile);
  }
  return found;
}

const mayBeWithin = (figure: QuantityFigure, { low, high }: QuantityBounds): boolean =>
  figure.kind === 'unclear' || (figure.kind === 'figure' && figure.value >= low && figure.value <= high);
const isWithin = (figure: QuantityFigure, bounds: QuantityBounds): boolean =>
  figure.kind === 'figure' && figure.year === bounds.year && mayBeWithin(figure, bounds);

/** Whether a field refers to the year that a clause names. */
const isOf = (profile: Profile, { dated, label }: Relation, year: number | undefined): boolean => !dated || yearOf(profile, label) === year;

interface CertainLead {
  readonly relation: Relation;
  readonly year: number | undefined;
  readonly surety: Surety;
}

function relatedTo(other: Profile, { relation, year, surety }: CertainLead): Profiles {
  const { key, own } = relation;
  const asked = surety === 'may' ? '' : String(year ?? '');
  return remembered(`${surety}/related/${key}/${other.code}/${asked}`, () => {
    const named = (profile: Profile): readonly Profile[] => {
      const found = relation.named(profile);
      return surety === 'surely' && relation.strict && found.length > 1 ? [] : found;
    };
    const counts = (profile: Profile): boolean => surety === 'may' || isOf(profile, relation, year);
    if (own) return filtered(surety, (profile) => named(profile).includes(other) && counts(profile));
    if (!counts(other)) return [];
    return surety === 'may' ? named(other) : named(other).filter((profile) => single().has(profile));
  });
}

interface FitOptions {
  readonly surety: Surety;
  /** A clause to leave out, compared by identity. */
  readonly without?: Clause;
}

function fittingClause(clause: Clause, reading: FitOptions): Profiles {
  const { surety } = reading;
  switch (clause.kind) {
    case 'says':
      return saying(clause.attribute, clause.value, surety);
    case 'contains':
      return saying(clause.attribute, clause.word, surety);
    case 'begins':
      return beginning(clause.attribute, clause.letter, surety);
    case 'figure':
      return within({ ...clause, low: clause.value, high: clause.value }, surety);
    case 'between':
      return within(clause, surety);
    case 'related': {
      const { relation, year } = clause;
      const sets = [...fitting(clause.to, reading)].map((other) => relatedTo(other, { relation, year, surety }));
      return new Set(sets.flatMap((set) => [...set]));
    }
  }
}

/** Every profile that a description fits. A clause about another country holds if it holds for one of the countries that may be meant. */
export function fitting(description: CountryDescription, reading: FitOptions): Profiles {
  if (description.kind === 'name') return new Set([description.profile]);
  const clauses = description.clauses.filter((clause) => clause !== reading.without);
  const [first, ...others] = clauses.map((clause) => fittingClause(clause, reading));
  if (first === undefined) return new Set(among(reading.surety));
  return new Set([...first].filter((profile) => others.every((set) => set.has(profile))));
}

/** Every profile that a description may fit; none when a nested description does not fit exactly one profile. */
export function solve(description: CountryDescription): readonly Profile[] {
  const inner = description.kind === 'name' ? [] : description.clauses.flatMap((clause) => (clause.kind === 'related' ? [clause.to] : []));
  return inner.every((one) => solve(one).length === 1) ? [...fitting(description, { surety: 'may' })] : [];
}

/** The clauses that state a fact by themselves, in this description and its nested ones. */
const factsOf = (description: CountryDescription): readonly Clause[] =>
  description.kind === 'name'
    ? []
    : description.clauses.flatMap((clause) => (clause.kind === 'related' && clause.to.kind === 'clauses' ? factsOf(clause.to) : [clause]));

/** Minimum number of countries with another answer when a clause is left out: a single one could be an error in the data. */
const OTHERS = 2;

/**
 * Redundant clauses: without one of them, the others still determine the answer. `isOther` says whether a profile has another answer.
 * Leaving out more clauses never leaves fewer profiles, so if no clause is redundant, no part of the description determines the answer.
 */
export const needlessIn = (description: CountryDescription, isOther: (profile: Profile) => boolean): readonly Clause[] =>
  factsOf(description).filter((without) => [...fitting(description, { surety: 'surely', without })].filter(isOther).length < OTHERS);
