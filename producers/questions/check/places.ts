// Finds the profiles that fit a reading, using the raw facts.
import type { DescribedCountry, CountryFact, CountryLead } from './described.ts';
import { DATED } from './grammar.ts';
import { bordersIn, createNames, firstFigure, partnersIn, rawProfiles, textAt, yearAt } from './raw-facts.ts';
import type { RawProfile } from './raw-facts.ts';

/** Search options. */
export interface Looking {
  /** Only countries, and only what the facts state beyond doubt; otherwise everything that may fit. */
  readonly surely: boolean;
  /** Allows a nested description to fit several profiles, one of which is meant; otherwise such a description fits nothing. */
  readonly open: boolean;
  /** The part to leave out, by identity. */
  readonly without?: CountryFact | CountryLead;
}

export const words = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;

const PATHS = {
  borders: ['Geography', 'Land boundaries', 'border countries'],
  exports: ['Economy', 'Exports - partners'],
  imports: ['Economy', 'Imports - partners'],
  independence: ['Government', 'Independence'],
} as const;

type NamedAmounts = readonly { readonly name: string; readonly amount: number }[];

/** The names with the largest amount, or the smallest when `sign` is -1; several in case of a tie. */
function extreme(named: NamedAmounts, sign: 1 | -1): readonly string[] {
  const best = Math.max(...named.map(({ amount }) => sign * amount));
  return named.filter(({ amount }) => sign * amount === best).map(({ name }) => name);
}

const every = (named: NamedAmounts): readonly string[] => named.map(({ name }) => name);
const formerRuler = (text: string): readonly string[] => {
  const [, name] = /\d{4} \(from (?:the )?([^(),;]+)/.exec(text) ?? [];
  return name === undefined ? [] : [name.trim()];
};

interface ReadRelation {
  readonly path: readonly string[];
  readonly names: (text: string) => readonly string[];
  /** True when the field is one of the described country itself, not of the related country. */
  readonly own?: true;
}

const relations: Readonly<Record<string, ReadRelation>> = {
  longest_border: { path: PATHS.borders, names: (text) => extreme(bordersIn(text), 1) },
  shortest_border: { path: PATHS.borders, names: (text) => extreme(bordersIn(text), -1) },
  border: { path: PATHS.borders, names: (text) => every(bordersIn(text)) },
  largest_exports: { path: PATHS.exports, names: (text) => extreme(partnersIn(text), 1) },
  largest_imports: { path: PATHS.imports, names: (text) => extreme(partnersIn(text), 1) },
  exports: { path: PATHS.exports, names: (text) => every(partnersIn(text)) },
  imports: { path: PATHS.imports, names: (text) => every(partnersIn(text)) },
  sends_most_to: { path: PATHS.exports, names: (text) => extreme(partnersIn(text), 1), own: true },
  gets_most_from: { path: PATHS.imports, names: (text) => extreme(partnersIn(text), 1), own: true },
  left: { path: PATHS.independence, names: formerRuler, own: true },
};

function saysSurely(reading: Exclude<CountryFact, { readonly kind: 'within' }>, text: string): boolean {
  const bare = text.replace(/\([^()]*\)|-?\d[\d,.]* m\b/g, '').split(/; ?note|: note/)[0] ?? '';
  if (reading.kind === 'says') return words(bare).includes(words(reading.value));
  // a quoted name may contain commas
  const named = bare.replace(/^\s*"([^"]+)"\s*$/, (_, name: string) => name.replace(/[,;/]/g, ' '));
  return !/[,;/]/.test(named) && /\p{L}/u.exec(named)?.[0].toUpperCase() === reading.letter;
}

function says(reading: Exclude<CountryFact, { readonly kind: 'within' }>, text: string): boolean {
  if (reading.kind === 'says') return words(text).includes(words(reading.value));
  return /\p{L}/u.exec(text.replace(/\([^()]*\)/g, ''))?.[0].toUpperCase() === reading.letter;
}

function holds(reading: CountryFact, profile: RawProfile, surely: boolean): boolean {
  const text = textAt(profile, reading.path);
  if (text.trim() === '') return false;
  if (reading.kind !== 'within') return surely ? saysSurely(reading, text) : says(reading, text);
  const figure = firstFigure(text);
  if (figure === undefined || figure < reading.low || figure > reading.high) return false;
  return !surely || reading.year === undefined || yearAt(profile, reading.path) === reading.year;
}

export class Places {
  readonly #profiles = rawProfiles();
  readonly #named = createNames(this.#profiles);
  readonly #known = new Map<string, ReadonlySet<RawProfile>>();

  /** Every profile that a reading fits. */
  fitting({ own, leads }: DescribedCountry, looking: Looking): readonly RawProfile[] {
    const { surely, without } = looking;
    const sets = [
      ...own.filter((fact) => fact !== without).map((fact) => this.#holders(fact, surely)),
      ...leads.filter((lead) => lead !== without).map((lead) => this.#led(lead, looking)),
    ];
    return this.#profiles.filter((profile) => (!surely || profile.isCountry) && sets.every((set) => set.has(profile)));
  }

  #led({ relation, year, to }: CountryLead, looking: Looking): ReadonlySet<RawProfile> {
    const inner = this.fitting(to, looking);
    if (!looking.open && inner.length !== 1) return new Set();
    return new Set(inner.flatMap((other) => [...this.#related(other, { relation, year: looking.surely ? year : undefined })]));
  }

  #related(other: RawProfile, { relation, year }: Pick<CountryLead, 'relation' | 'year'>): ReadonlySet<RawProfile> {
    return this.#remembered(`${relation}/${year ?? ''}/${other.code}`, () => {
      const found = relations[relation];
      if (found === undefined) return [];
      const isOf = (profile: RawProfile): boolean => year === undefined || !DATED.has(relation) || yearAt(profile, found.path) === year;
      if (found.own === true) return this.#profiles.filter((profile) => isOf(profile) && this.#meantBy(profile, found).includes(other));
      return isOf(other) ? this.#meantBy(other, found) : [];
    });
  }

  #meantBy(profile: RawProfile, { path, names }: ReadRelation): readonly RawProfile[] {
    return names(textAt(profile, path)).flatMap((name) => this.#named(name) ?? []);
  }

  #holders(fact: CountryFact, surely: boolean): ReadonlySet<RawProfile> {
    return this.#remembered(`${String(surely)}/${JSON.stringify(fact)}`, () =>
      this.#profiles.filter((profile) => holds(fact, profile, surely)),
    );
  }

  #remembered(key: string, find: () => readonly RawProfile[]): ReadonlySet<RawProfile> {
    const known = this.#known.get(key) ?? new Set(find());
    this.#known.set(key, known);
    return known;
  }
}
