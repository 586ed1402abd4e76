// The edits that the factbook writer can make to a description: add a fact about a country, or blur an existing one. A fact that is added
// to others usually makes them less precise, so that none of them is sufficient alone.
import { factbookProfiles } from '../../factbook/profiles.ts';
import type { Profile } from '../../factbook/profiles.ts';
import { attributes, valuesOf } from '../attributes.ts';
import type { Attribute } from '../attributes.ts';
import { countries } from '../chains.ts';
import type { Clause, CountryDescription } from './clause.ts';
import { beginnable, clausesIn, containable, describe, namedIn } from './description.ts';
import { initialOf } from './fitting.ts';
import { boundsAround, figureOf, quantities, sayNumber, yearOf } from './quantities.ts';
import { relationOf, relations } from './relations.ts';
import type { Relation } from './relations.ts';

/** A description after an edit, and a summary of the edit. */
export interface Changed {
  readonly description: CountryDescription;
  readonly detail: string;
}

const pick = <T>(items: readonly T[], random: () => number): T | undefined => items[Math.floor(random() * items.length)];

const identifying = attributes.filter((attribute) => attribute.identify !== undefined);

/** How an edit makes its choices. */
export interface Choosing {
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Whether a country may appear in the question. */
  readonly suits: (profile: Profile) => boolean;
}

const told = new Map<Profile, readonly Clause[]>();

/** Every clause about a country that its own profile supports, suitable or not; cached. */
function ownClauses(profile: Profile): readonly Clause[] {
  const clauses = told.get(profile) ?? readClauses(profile);
  told.set(profile, clauses);
  return clauses;
}

function readClauses(profile: Profile): readonly Clause[] {
  const said = identifying.flatMap((attribute): Clause[] => {
    const [value] = valuesOf(profile, attribute);
    return value === undefined ? [] : [{ kind: 'says', attribute, value }];
  });
  const figures = quantities.flatMap((quantity): Clause[] => {
    const figure = figureOf(profile, quantity);
    return figure.kind === 'figure' ? [{ kind: 'figure', quantity, year: figure.year, value: figure.value }] : [];
  });
  return [...said, ...figures];
}

/** Another country that leads to a given one. */
interface IncomingLead {
  readonly relation: Relation;
  readonly from: Profile;
  readonly year: number | undefined;
}

const leading = new Map<Profile, IncomingLead[]>();

/** Every relation that leads to a country, and its origin. */
function leadsTo(profile: Profile): readonly IncomingLead[] {
  if (leading.size === 0) {
    for (const one of factbookProfiles()) leading.set(one, []);
    for (const relation of relations) {
      for (const holder of countries()) {
        const year = relation.dated ? yearOf(holder, relation.label) : undefined;
        for (const named of relation.named(holder)) {
          const [from, to] = relation.own ? [named, holder] : [holder, named];
          leading.get(to)?.push({ relation, from, year });
        }
      }
    }
  }
  return leading.get(profile) ?? [];
}

/** Replaces the named country of a description. */
function replaceName(description: CountryDescription, by: CountryDescription): CountryDescription {
  if (description.kind === 'name') return by;
  return {
    kind: 'clauses',
    clauses: description.clauses.map((clause) => (clause.kind === 'related' ? { ...clause, to: replaceName(clause.to, by) } : clause)),
  };
}

type Replace = (clause: Clause) => readonly Clause[];

/** Replaces clauses, including nested ones. */
function replaceClauses(description: CountryDescription, replace: Replace): CountryDescription {
  if (description.kind === 'name') return description;
  return {
    kind: 'clauses',
    clauses: description.clauses.flatMap((one): readonly Clause[] => {
      const by = replace(one);
      return by.map((made) => (made.kind === 'related' ? { ...made, to: replaceClauses(made.to, replace) } : made));
    }),
  };
}

/** Largest `width` (see `Blurring`) that is drawn when a fact is added, so that later edits can still widen the bounds. */
const SLACK = 0.5;

/** Probability of a relation that leads to several countries, and of a border when there are alternatives. */
const LOOSE = 0.5;
const BORDERING = 0.85;

function pickLead(leads: readonly IncomingLead[], random: () => number): IncomingLead | undefined {
  const borders = leads.filter(({ relation }) => !relation.dated && !relation.own);
  return pick(borders.length > 0 && random() < BORDERING ? borders : leads, random);
}

/**
 * Describes a country by another one that leads to it: either by a relation that leads to no other country, or by one that may lead to
 * several, together with a fact about the country.
 */
function relate(description: CountryDescription, profile: Profile, { random, suits }: Choosing): Changed | undefined {
  const leads = leadsTo(profile).filter(({ from }) => suits(from));
  const strict = leads.filter(({ relation }) => relation.blurred !== undefined);
  const isLoose = strict.length === 0 || random() < LOOSE;
  const found = pickLead(isLoose ? leads.filter(({ relation }) => relation.blurred === undefined) : strict, random);
  if (found === undefined) return undefined;
  const { relation, from, year } = found;
  const lead: Clause = { kind: 'related', relation, year, to: { kind: 'name', profile: from } };
  const fact = isLoose ? pick(ownClauses(profile), random) : undefined;
  const clauses =
    fact === undefined ? [lead] : [random() < 0.5 ? (blur(fact, profile, { random, width: SLACK * random() }) ?? fact) : fact, lead];
  const by: CountryDescription = { kind: 'clauses', clauses };
  return {
    description: replaceName(description, by),
    detail: `${profile.title} becomes ${describe(by)} (${relation.label} of ${relation.own ? profile.title : from.title})`,
  };
}

/** Probability that the country at the start of the chain is described by words, which can be blurred; other facts often cannot. */
const BLURRABLE = 0.75;

const hasWords = (clause: Clause): boolean => clause.kind === 'says' && containable.has(clause.attribute.key) && clause.value.includes(' ');

function ground(description: CountryDescription, profile: Profile, random: () => number): Changed | undefined {
  const clauses = ownClauses(profile);
  const clause = pick(random() < BLURRABLE ? clauses.filter(hasWords) : clauses, random);
  if (clause === undefined) return undefined;
  const by: CountryDescription = { kind: 'clauses', clauses: [clause] };
  return { description: replaceName(description, by), detail: `${profile.title} becomes ${describe(by)}` };
}

/** The clauses of each country. */
function perCountry(description: CountryDescription): readonly { readonly of: Profile; readonly clauses: readonly Clause[] }[] {
  if (description.kind === 'name') return [];
  const inner = description.clauses.flatMap((clause) => (clause.kind === 'related' ? perCountry(clause.to) : []));
  const of = clausesIn(description)[0]?.of;
  return of === undefined ? inner : [{ of, clauses: description.clauses }, ...inner];
}

const WEAKEN = 0.7;

/** Adds a fact about a country, possibly a repeated one. It and each existing fact become less precise with probability `WEAKEN`. */
function enrich(description: CountryDescription, random: () => number): Changed | undefined {
  const about = pick(perCountry(description), random);
  if (about === undefined) return undefined;
  const { of, clauses } = about;
  const added = pick(ownClauses(of), random);
  if (added === undefined) return undefined;
  const weaker = new Map(
    clauses.map((clause) => [clause, random() < WEAKEN ? blur(clause, of, { random, width: SLACK * random() }) : undefined]),
  );
  const fact = random() < WEAKEN ? (blur(added, of, { random, width: SLACK * random() }) ?? added) : added;
  const [first] = clauses;
  const said = [...weaker.values()].filter((clause) => clause !== undefined).map(sayBlurred);
  return {
    description: replaceClauses(description, (clause) => {
      if (!weaker.has(clause)) return [clause];
      const kept = weaker.get(clause) ?? clause;
      return clause === first ? [fact, kept] : [kept];
    }),
    detail: `${of.title} is ${describe({ kind: 'clauses', clauses: [fact] })}${said.length === 0 ? '' : `; ${said.join('; ')}`}`,
  };
}

const MAX_RELATIONS = 3;
/** Probability that a name is replaced with another country, by the number of existing relations. */
const RELATE = [1, 0.8, 0.3] as const;

/** Adds a fact. A name that is still there in the last round is replaced with a description. */
export function injectFact(description: CountryDescription, left: number, choosing: Choosing): Changed | undefined {
  const { random } = choosing;
  const [named] = namedIn(description);
  if (named === undefined) return enrich(description, random);
  const relations = relationsIn(description);
  if (left > 1 && relations < MAX_RELATIONS && random() < (RELATE[relations] ?? 0)) {
    return relate(description, named, choosing) ?? ground(description, named, random);
  }
  return ground(description, named, random);
}

/** Number of steps from one country to the next. */
export const relationsIn = (description: CountryDescription): number =>
  clausesIn(description).filter(({ clause }) => clause.kind === 'related').length;

function blurSaid(attribute: Attribute, value: string, random: () => number): Clause | undefined {
  const year = attribute.key === 'independence' ? /\b\d{3,4}$/.exec(value)?.[0] : undefined;
  if (year !== undefined) return year === value ? undefined : { kind: 'says', attribute, value: year };
  const words = value.split(/\s+/);
  const long = words.filter((word) => /^[\p{L}'-]{4,}$/u.test(word));
  const word = words.length > 1 && containable.has(attribute.key) && random() < 0.7 ? pick(long, random) : undefined;
  if (word !== undefined) return { kind: 'contains', attribute, word };
  return begin(attribute, value);
}

function begin(attribute: Attribute, value: string): Clause | undefined {
  const letter = beginnable.has(attribute.key) ? initialOf(value) : undefined;
  return letter === undefined ? undefined : { kind: 'begins', attribute, letter };
}

/** Bounds around the figure of a country, at least `width` of it and wider than the existing ones. */
function blurFigure(
  clause: Clause & { readonly kind: 'figure' | 'between' },
  of: Profile,
  { random, width }: Blurring,
): Clause | undefined {
  const { quantity, year } = clause;
  const figure = figureOf(of, quantity);
  if (figure.kind !== 'figure') return undefined;
  const before = clause.kind === 'between' ? clause.high - clause.low : 0;
  const bounds = boundsAround(figure.value, Math.max(before, width * figure.value), random());
  return bounds === undefined ? undefined : { kind: 'between', quantity, year, low: bounds[0], high: bounds[1] };
}

interface Blurring {
  readonly random: () => number;
  /** Minimum width of bounds, as a share of the figure. */
  readonly width: number;
}

/** A less precise form of the clause; undefined when there is none. */
function blur(clause: Clause, of: Profile, blurring: Blurring): Clause | undefined {
  switch (clause.kind) {
    case 'says':
      return blurSaid(clause.attribute, clause.value, blurring.random);
    case 'figure':
    case 'between':
      return blurFigure(clause, of, blurring);
    case 'related':
      return clause.relation.blurred === undefined ? undefined : { ...clause, relation: relationOf(clause.relation.blurred) };
    case 'contains':
      return begin(clause.attribute, valuesOf(of, clause.attribute)[0] ?? '');
    case 'begins':
      return undefined;
  }
}

function sayBlurred(clause: Clause): string {
  switch (clause.kind) {
    case 'between':
      return `${clause.quantity.noun} only within ${sayNumber(clause.low)} and ${sayNumber(clause.high)}`;
    case 'related':
      return `only ${clause.relation.key}`;
    case 'contains':
      return `${clause.attribute.label} only by one of its words, ${clause.word}`;
    case 'begins':
      return `${clause.attribute.label} only by its first letter, ${clause.letter}`;
    default:
      return describe({ kind: 'clauses', clauses: [clause] });
  }
}

/** Blurs a randomly chosen detail. */
export function blurDetail(description: CountryDescription, random: () => number): Changed | undefined {
  const blurred = clausesIn(description).flatMap(({ clause, of }) => {
    const by = of === undefined ? undefined : blur(clause, of, { random, width: 0 });
    return by === undefined ? [] : [{ clause, of, by }];
  });
  const chosen = pick(blurred, random);
  if (chosen === undefined) return undefined;
  return {
    description: replaceClauses(description, (clause) => [clause === chosen.clause ? chosen.by : clause]),
    detail: `${chosen.of?.title ?? ''}: ${sayBlurred(chosen.by)}`,
  };
}
