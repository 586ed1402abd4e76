// How countries lead to each other: borders, trade, and independence from another country. A relation lists the countries that are related
// to a given one; a strict relation lists at most one, except in a tie. Trade changes, so trade relations state a year.
import { bordersOf, fieldOf, profileNamed } from '../../factbook/profiles.ts';
import type { Profile } from '../../factbook/profiles.ts';

export interface Relation {
  readonly key: string;
  /** Label of the field, in the profile of the other country, or of the described country when `own`. */
  readonly label: string;
  /** True when the field belongs to the described country, false when it belongs to the other one. */
  readonly own: boolean;
  /** The clause that precedes the other country: `that has the longest land border with <other>`. The year is that of the field. */
  readonly clause: (year: number | undefined) => string;
  /** True when the clause needs a year. */
  readonly dated: boolean;
  /** True when it names a single country, except in a tie. */
  readonly strict: boolean;
  /** A less precise form of the relation. */
  readonly blurred?: string;
  /** The profiles that the field names; for a superlative, such as the longest border, those that tie for it. */
  readonly named: (profile: Profile) => readonly Profile[];
}

const BORDERS = 'Land boundaries, border countries';
const EXPORTS = 'Exports - partners';
const IMPORTS = 'Imports - partners';
const INDEPENDENCE = 'Independence';

function extreme(sign: 1 | -1) {
  return (profile: Profile): readonly Profile[] => {
    const borders = [...bordersOf(profile)].sort((a, b) => sign * (b.km - a.km));
    return borders.filter(({ km }) => km === borders[0]?.km).flatMap(({ to }) => (to === undefined ? [] : [to]));
  };
}

const neighbours = (profile: Profile): readonly Profile[] => bordersOf(profile).flatMap(({ to }) => (to === undefined ? [] : [to]));

interface Partner {
  readonly to: Profile | undefined;
  readonly share: number;
}

const partner = /(?:^|, )([^,%]+?) (\d+(?:\.\d+)?)%/g;

function partnersOf(profile: Profile, label: string): readonly Partner[] {
  const text = (fieldOf(profile, label) ?? '').split(';')[0] ?? '';
  return [...text.matchAll(partner)].map(([, name = '', share]) => ({ to: profileNamed(name.trim()), share: Number(share) }));
}

function topPartner(label: string) {
  return (profile: Profile): readonly Profile[] => {
    const partners = partnersOf(profile, label);
    const most = Math.max(...partners.map(({ share }) => share));
    return partners.filter(({ share }) => share === most).flatMap(({ to }) => (to === undefined ? [] : [to]));
  };
}

function partners(label: string) {
  return (profile: Profile): readonly Profile[] => partnersOf(profile, label).flatMap(({ to }) => (to === undefined ? [] : [to]));
}

function formerRule(profile: Profile): readonly Profile[] {
  const rulers = [...(fieldOf(profile, INDEPENDENCE) ?? '').matchAll(/\(from (?:the )?([^();,]+)/g)];
  return rulers.flatMap(([, name = '']) => profileNamed(name.trim()) ?? []);
}

type RelationWords = Pick<Relation, 'clause' | 'dated'>;
const lasting = (words: string): RelationWords => ({ clause: () => words, dated: false });
const inYear = (words: (year: string) => string): RelationWords => ({ clause: (year) => words(String(year ?? '')), dated: true });

const border = (key: string, sign: 1 | -1, words: string): Relation => ({
  ...{ key, label: BORDERS, own: false, strict: true, blurred: 'border', named: extreme(sign) },
  ...lasting(words),
});

export const relations: readonly Relation[] = [
  border('longest_border', 1, 'that has the longest land border with'),
  border('shortest_border', -1, 'that has the shortest land border with'),
  {
    ...{ key: 'export_partner', label: EXPORTS, own: false, strict: true, blurred: 'some_export_partner', named: topPartner(EXPORTS) },
    ...inYear((year) => `that took the largest share of the ${year} exports of`),
  },
  {
    ...{ key: 'import_partner', label: IMPORTS, own: false, strict: true, blurred: 'some_import_partner', named: topPartner(IMPORTS) },
    ...inYear((year) => `that supplied the largest share of the ${year} imports of`),
  },
  { key: 'border', label: BORDERS, own: false, strict: false, named: neighbours, ...lasting('that has a land border with') },
  {
    ...{ key: 'some_export_partner', label: EXPORTS, own: false, strict: false, named: partners(EXPORTS) },
    ...inYear((year) => `that was a main export partner in ${year} of`),
  },
  {
    ...{ key: 'some_import_partner', label: IMPORTS, own: false, strict: false, named: partners(IMPORTS) },
    ...inYear((year) => `that was a main import partner in ${year} of`),
  },
  {
    ...{ key: 'own_exports', label: EXPORTS, own: true, strict: true, named: topPartner(EXPORTS) },
    ...inYear((year) => `that sent the largest share of its ${year} exports to`),
  },
  {
    ...{ key: 'own_imports', label: IMPORTS, own: true, strict: true, named: topPartner(IMPORTS) },
    ...inYear((year) => `that got the largest share of its ${year} imports from`),
  },
  { key: 'former_rule', label: INDEPENDENCE, own: true, strict: true, named: formerRule, ...lasting('that became independent from') },
];

const byKey: ReadonlyMap<string, Relation> = new Map(relations.map((relation) => [relation.key, relation]));

/** Looks up a relation by its key. */
export function relationOf(key: string): Relation {
  const found = byKey.get(key);
  if (found === undefined) throw new RangeError(`no relation is called ${key}`);
  return found;
}
