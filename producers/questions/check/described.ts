// The possible readings of a question's clauses: which country each clause is about.
import type { ParsedClause } from './grammar.ts';

/** A statement about a single country. */
export type CountryFact = Exclude<ParsedClause, { readonly kind: 'leads' }>;

export interface CountryLead {
  readonly relation: string;
  readonly year: number | undefined;
  readonly to: DescribedCountry;
}

/** A country as described by one reading. */
export interface DescribedCountry {
  readonly own: readonly CountryFact[];
  readonly leads: readonly CountryLead[];
}

interface Open {
  own: CountryFact[];
  leads: (Omit<CountryLead, 'to'> & { to: Open })[];
}

/** Every country in it has at least one clause of its own. */
const isComplete = ({ own, leads }: DescribedCountry): boolean => own.length + leads.length > 0 && leads.every(({ to }) => isComplete(to));

/** Every way to attach the clauses: the intended reading first, then those that attach a clause to an outer country. */
export function readings(clauses: readonly ParsedClause[]): readonly DescribedCountry[] {
  const found: DescribedCountry[] = [];
  const root: Open = { own: [], leads: [] };
  /** `open`: the countries that a clause can still refer to, outermost first. */
  const go = (at: number, open: readonly Open[]): void => {
    const reading = clauses[at];
    if (reading === undefined) {
      found.push(structuredClone(root));
      return;
    }
    for (let level = open.length - 1; level >= 0; level -= 1) {
      const target = open[level];
      if (target === undefined) continue;
      const stillOpen = open.slice(0, level + 1);
      if (reading.kind === 'leads') {
        const to: Open = { own: [], leads: [] };
        target.leads.push({ relation: reading.relation, year: reading.year, to });
        go(at + 1, [...stillOpen, to]);
        target.leads.pop();
      } else {
        target.own.push(reading);
        go(at + 1, stillOpen);
        target.own.pop();
      }
    }
  };
  go(0, [root]);
  return found.filter(isComplete);
}

/** Every fact and lead of a reading. */
export function partsOf({ own, leads }: DescribedCountry): readonly (CountryFact | CountryLead)[] {
  return [...own, ...leads.flatMap((lead) => [lead, ...partsOf(lead.to)])];
}
