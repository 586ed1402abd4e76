// A question taken apart: what else can be asked about the country that it names. Each part can be looked up by itself, and
// its answer says something of the country that does not tell by itself which one it is.
import { shuffled } from '../../../streams/core/random.ts';
import { factbookProfiles, fieldOf } from '../../rollouts/tools/factbook-profiles.ts';
import type { Profile } from '../../rollouts/tools/factbook-profiles.ts';
import { attributes, valuesOf } from '../attributes.ts';
import type { Attribute } from '../attributes.ts';
import type { Clause } from '../synthesis/clause.ts';
import { beginnable } from '../synthesis/description.ts';
import { isLasting } from '../synthesis/factbook-gates.ts';
import { initialOf, solve } from '../synthesis/fitting.ts';
import { boundsAround, figureOf, quantities } from '../synthesis/quantities.ts';
import type { Quantity } from '../synthesis/quantities.ts';

/** One part of a question. */
export interface SubQuestion {
  readonly text: string;
  /** Label of the field that answers it. */
  readonly label: string;
  /** What the field says, as a clause that fits other countries as well; undefined when it says nothing of that kind. */
  readonly read: (profile: Profile, random: () => number) => Clause | undefined;
}

type Told = Attribute & { readonly ask: (who: string) => string };

const told = attributes.filter(
  (attribute): attribute is Told => attribute.identify !== undefined && attribute.ask !== undefined && isLasting(attribute),
);

/** Whether a clause fits the country and leaves open which country it is. */
function leavesOpen(clause: Clause, profile: Profile): boolean {
  const fitting = solve({ kind: 'clauses', clauses: [clause] });
  return fitting.length > 1 && fitting.includes(profile);
}

/** The value where others share it, else no more than the letter that it begins with. */
function saidOf(profile: Profile, attribute: Told): Clause | undefined {
  const [value, ...more] = valuesOf(profile, attribute);
  if (value === undefined || more.length > 0) return undefined;
  const initial = beginnable.has(attribute.key) ? initialOf(value) : undefined;
  const clauses: readonly Clause[] = [
    { kind: 'says', attribute, value },
    ...(initial === undefined ? [] : [{ kind: 'begins' as const, attribute, letter: initial }]),
  ];
  return clauses.find((clause) => leavesOpen(clause, profile));
}

/** Of bounds at least, as a share of the figure. */
const WIDTH = 0.2;

const holders = new Map<Quantity, ReadonlyMap<number, number>>();

/** How many profiles have exactly that figure. */
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

/** The figure where others share it, else bounds around it. */
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

/** The parts of a question about a country, in an order that the draws decide; none asks what the question asks. */
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
