// Other ways to read the words of a description. A clause is about the country before it; it can also be read to be about
// one further out, as long as none in between has been left.
import type { Profile } from '../../rollouts/tools/factbook-profiles.ts';
import type { Clause, Description } from './clause.ts';
import { inOrder } from './description.ts';
import { fitting } from './fitting.ts';

type Lead = Clause & { readonly kind: 'related' };
/** A clause in the order of the words; one that leads to a country without a name is followed by the clauses about that. */
type Word = { readonly says: Clause } | { readonly leads: Lead };

function wordsOf(description: Description): readonly Word[] {
  if (description.kind === 'name') return [];
  return inOrder(description.clauses).flatMap((clause): readonly Word[] => {
    if (clause.kind !== 'related' || clause.to.kind === 'name') return [{ says: clause }];
    return [{ leads: clause }, ...wordsOf(clause.to)];
  });
}

/** A country in the making: its clauses, and the number of the country that a lead of it leads to. */
type Node = readonly (Clause | { readonly lead: Lead; readonly to: number })[];

function builtFrom(nodes: readonly Node[], at: number): Description | undefined {
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

/** Every way to read a description, the one that is meant among them. */
function readingsOf(description: Description): readonly Description[] {
  let made: readonly { readonly nodes: readonly Node[]; readonly open: readonly number[] }[] = [{ nodes: [[]], open: [0] }];
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

/** So few places are as good as one: whoever knows the facts a little differently is left with one. */
const FEW = 3;

/** Countries, other than the one that is meant, that a way to read a description singles out. */
export function otherReadings(description: Description, meant: Profile): readonly Profile[] {
  const singled = readingsOf(description).flatMap((reading) => {
    const sets = (['may', 'surely'] as const).map((surety) => [...fitting(reading, { surety })]);
    return sets.filter((set) => set.length <= FEW && !set.includes(meant)).flat();
  });
  return [...new Set(singled)];
}
