// Alternative readings of a description. A clause is meant to be about the last country mentioned before it: in "the country that borders
// the country whose capital is X", X is the capital of the second one. It can also be read as being about a country mentioned earlier: X is
// the capital of the first one. The clauses after it can then no longer be about the countries mentioned in between.
import type { Profile } from '../../factbook/profiles.ts';
import type { Clause, CountryDescription } from './clause.ts';
import { inOrder } from './description.ts';
import { fitting } from './fitting.ts';

type RelatedClause = Clause & { readonly kind: 'related' };
/** A clause in word order; one that leads to an unnamed country is followed by the clauses about that country. */
type Word = { readonly says: Clause } | { readonly leads: RelatedClause };

function wordsOf(description: CountryDescription): readonly Word[] {
  if (description.kind === 'name') return [];
  return inOrder(description.clauses).flatMap((clause): readonly Word[] => {
    if (clause.kind !== 'related' || clause.to.kind === 'name') return [{ says: clause }];
    return [{ leads: clause }, ...wordsOf(clause.to)];
  });
}

/** A country under construction: its clauses, and for each lead the number of the country that it leads to. */
type CountryNode = readonly (Clause | { readonly lead: RelatedClause; readonly to: number })[];

function builtFrom(nodes: readonly CountryNode[], at: number): CountryDescription | undefined {
  const node = nodes[at] ?? [];
  const clauses = node.map((one): Clause | undefined => {
    if (!('lead' in one)) return one;
    const to = builtFrom(nodes, one.to);
    return to === undefined ? undefined : { ...one.lead, to };
  });
  return clauses.length === 0 || clauses.includes(undefined)
    ? undefined
    : { kind: 'clauses', clauses: clauses.filter((one) => one !== undefined) };
}

/** Every reading of a description, including the intended one. */
function readingsOf(description: CountryDescription): readonly CountryDescription[] {
  let made: readonly { readonly nodes: readonly CountryNode[]; readonly open: readonly number[] }[] = [{ nodes: [[]], open: [0] }];
  for (const word of wordsOf(description)) {
    made = made.flatMap(({ nodes, open }) =>
      open.map((about, at) => {
        const kept = open.slice(0, at + 1);
        const added = 'says' in word ? word.says : { lead: word.leads, to: nodes.length };
        const next = nodes.map((node, number) => (number === about ? [...node, added] : node));
        return 'says' in word ? { nodes: next, open: kept } : { nodes: [...next, []], open: [...kept, nodes.length] };
      }),
    );
  }
  return made.flatMap(({ nodes }) => builtFrom(nodes, 0) ?? []);
}

/** A reading that fits at most this many profiles is as bad as one that fits a single profile: slightly different facts leave only one. */
const FEW = 3;

/** Profiles that fit a reading of the description, if that reading fits at most FEW profiles and not the intended one. */
export function otherReadings(description: CountryDescription, meant: Profile): readonly Profile[] {
  const singled = readingsOf(description).flatMap((reading) => {
    const sets = (['may', 'surely'] as const).map((surety) => [...fitting(reading, { surety })]);
    return sets.filter((set) => set.length <= FEW && !set.includes(meant)).flat();
  });
  return [...new Set(singled)];
}
