// Decomposes a question: what else can be asked about the country that it names. Each part can be looked up on its own, and its answer
// describes the country without identifying it.
import { shuffled } from '../../../streams/core/random.ts';
import { factbookProfiles, fieldOf } from '../../factbook/profiles.ts';
import type { Profile } from '../../factbook/profiles.ts';
import { attributes, valuesOf } from '../attributes.ts';
import type { Clause } from '../synthesis/clause.ts';
import { beginnable } from '../synthesis/description.ts';
import { isLasting, type AskableAttribute } from '../synthesis/factbook-gates.ts';
import { initialOf, solve } from '../synthesis/fitting.ts';
import { boundsAround, figureOf, quantities } from '../synthesis/quantities.ts';
import type { Quantity } from '../synthesis/quantities.ts';

/** One part of a question. */
export interface SubQuestion {
  readonly text: string;
  /** Label of the field that answers it. */
  readonly label: string;
  /** The field's content as a clause that fits other countries as well; undefined when it has nothing suitable. */
  readonly read: (profile: Profile, random: () => number) => Clause | undefined;
}

const told = attributes.filter(
  (attribute): attribute is AskableAttribute => attribute.identify !== undefined && attribute.ask !== undefined && isLasting(attribute),
);

/** Whether a clause fits the country without identifying it. */
function leavesOpen(clause: Clause, profile: Profile): boolean {
  const fitting = solve({ kind: 'clauses', clauses: [clause] });
  return fitting.length > 1 && fitting.includes(profile);
}

/** The value if other countries share it, else only its first letter. */
function saidOf(profile: Profile, attribute: AskableAttribute): Clause | undefined {
  const [value, ...more] = valuesOf(profile, attribute);
  if (value === undefined || more.length > 0) return undefined;
  const initial = beginnable.has(attribute.key) ? initialOf(value) : undefined;
  const clauses: readonly Clause[] = [
    { kind: 'says', attribute, value },
    ...(initial === undefined ? [] : [{ kind: 'begins' as const, attribute, letter: initial }]),
  ];
  return clauses.find((clause) => leavesOpen(clause, profile));
}

/** Minimum width of bounds, as a share of the figure. */
const WIDTH = 0.2;

const holders = new Map<Quantity, ReadonlyMap<number, number>>();

/** Number of profiles with exactly this figure. */
function holdersOf(quantity: Quantity, value: number): number {
  let counts = holders.get(quantity);
  if (counts === undefined) {
    const found = factbookProfiles().map((profile) => figureOf(profile, quantity));
    const made = new Map<number, number>();
    for (const figure of found) if (figure.kind === 'figure') made.set(figure.value, (made.get(figure.value) ?? 0) + 1);
    holders.set(quantity, made);
    counts = made;
  }
  return counts.get(value) ?? 0;
}

/** The figure if other countries share it, else bounds around it. */
function figuredOf(profile: Profile, quantity: Quantity, random: () => number): Clause | undefined {
  const found = figureOf(profile, quantity);
  if (found.kind !== 'figure') return undefined;
  const bounds = boundsAround(found.value, WIDTH * found.value, random());
  const isShared = holdersOf(quantity, found.value) > 1;
  const clauses: readonly Clause[] = [
    ...(isShared ? [{ kind: 'figure' as const, quantity, year: found.year, value: found.value }] : []),
    ...(bounds === undefined ? [] : [{ kind: 'between' as const, quantity, year: found.year, low: bounds[0], high: bounds[1] }]),
  ];
  return clauses.find((clause) => leavesOpen(clause, profile));
}

/** The parts of a question about a country, in random order; none asks what the question itself asks. */
export function decompose(about: Profile, askedLabel: string, random: () => number): readonly SubQuestion[] {
  const parts: readonly SubQuestion[] = [
    ...told.map((attribute) => ({
      text: attribute.ask(about.title),
      label: attribute.label,
      read: (profile: Profile) => saidOf(profile, attribute),
    })),
    ...quantities.map((quantity) => ({
      text: `What is the ${quantity.noun} of ${about.title}?`,
      label: quantity.label,
      read: (profile: Profile, draw: () => number) => figuredOf(profile, quantity, draw),
    })),
  ];
  const known = parts.filter(({ label }) => label !== askedLabel && fieldOf(about, label) !== undefined);
  return shuffled(known, random);
}
