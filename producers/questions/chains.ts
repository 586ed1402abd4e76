// Chains of hops through the profiles, from the country that the question identifies to the country it asks about.
import { bordersOf, factbookProfiles } from '../factbook/profiles.ts';
import type { Border, Profile } from '../factbook/profiles.ts';
import { attributes } from './attributes.ts';
import type { Attribute } from './attributes.ts';

/** How the identified country leads to the country asked about. */
interface BorderRelation {
  readonly kind: 'longest_border' | 'shortest_border' | 'only_border';
  readonly to: Profile;
  readonly km: number;
  /** False when another border is just as long. */
  readonly unique: boolean;
}

export interface Chain {
  readonly start: Profile;
  readonly identify: Attribute & { readonly identify: (value: string) => string };
  readonly relation: BorderRelation | undefined;
  /** The country whose attribute is the answer. */
  readonly end: Profile;
  readonly ask: Attribute & { readonly ask: (who: string) => string };
}

/** Profiles of single countries and territories: no oceans, no world, no European Union. */
export const countries = (): readonly Profile[] =>
  factbookProfiles().filter(({ region, code }) => region !== 'oceans' && region !== 'world' && code !== 'ee');

function relation(kind: BorderRelation['kind'], border: Border | undefined, rival: Border | undefined): readonly BorderRelation[] {
  return border?.to === undefined ? [] : [{ kind, to: border.to, km: border.km, unique: border.km !== rival?.km }];
}

function relationsOf(start: Profile): readonly BorderRelation[] {
  const borders = [...bordersOf(start)].sort((a, b) => b.km - a.km);
  if (borders.length === 1) return relation('only_border', borders[0], undefined);
  return [...relation('longest_border', borders[0], borders[1]), ...relation('shortest_border', borders.at(-1), borders.at(-2))];
}

const identifying = attributes.filter((attribute): attribute is Chain['identify'] => attribute.identify !== undefined);
const asking = attributes.filter((attribute): attribute is Chain['ask'] => attribute.ask !== undefined);

/** Every chain that can be expressed, whether it passes the gates or not, in a fixed order. */
export function allChains(): readonly Chain[] {
  const chains: Chain[] = [];
  for (const start of countries()) {
    const ends = [{ relation: undefined, end: start }, ...relationsOf(start).map((relation) => ({ relation, end: relation.to }))];
    for (const { relation, end } of ends) {
      for (const identify of identifying) {
        for (const ask of asking) {
          if (relation !== undefined || ask.label !== identify.label) chains.push({ start, identify, relation, end, ask });
        }
      }
    }
  }
  return chains;
}

const related: Readonly<Record<BorderRelation['kind'], string>> = {
  longest_border: 'the country that has the longest land border with',
  shortest_border: 'the country that has the shortest land border with',
  only_border: 'the only country that has a land border with',
};

/** How the question refers to the country it asks about, given the identifying value. */
export function describeEnd(chain: Chain, value: string): string {
  const start = `the country ${chain.identify.identify(value)}`;
  return chain.relation === undefined ? start : `${related[chain.relation.kind]} ${start}`;
}
