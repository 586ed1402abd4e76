// A question taken apart: what else can be asked about the country that it names. Each part can be looked up by itself, and
// its answer says something of the country that does not tell by itself which one it is.
import { fieldOf } from '../../rollouts/tools/factbook-profiles.ts';
import type { Profile } from '../../rollouts/tools/factbook-profiles.ts';
import { attributes, valuesOf } from '../attributes.ts';
import type { Attribute } from '../attributes.ts';
import { beginnable, initialOf, solve } from '../synthesis/description.ts';
import type { Clause } from '../synthesis/description.ts';
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

const told = attributes.filter((attribute): attribute is Told => attribute.identify !== undefined && attribute.ask !== undefined);

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

function boundsOf(profile: Profile, quantity: Quantity, random: () => number): Clause | undefined {
  const found = figureOf(profile, quantity);
  const bounds = found.kind === 'figure' ? boundsAround(found.value, 0, random()) : undefined;
  if (bounds === undefined) return undefined;
  const clause: Clause = { kind: 'between', quantity, low: bounds[0], high: bounds[1] };
  return leavesOpen(clause, profile) ? clause : undefined;
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
      read: (profile: Profile, draw: () => number) => boundsOf(profile, quantity, draw),
    })),
  ];
  return parts
    .filter(({ label }) => label !== askedLabel && fieldOf(about, label) !== undefined)
    .map((part) => ({ part, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ part }) => part);
}
