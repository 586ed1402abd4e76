import type { Profile } from '../../factbook/profiles.ts';
import type { Clause } from '../synthesis/clause.ts';
import { solve } from '../synthesis/fitting.ts';

/** A minimal set of clauses that fits only this country; undefined when even all clauses together fit other countries too. */
export function combine(about: Profile, clauses: readonly Clause[]): readonly Clause[] | undefined {
  const fitsOnly = (some: readonly Clause[]): boolean => {
    const fitting = solve({ kind: 'clauses', clauses: some });
    return fitting.length === 1 && fitting[0] === about;
  };
  if (!fitsOnly(clauses)) return undefined;
  return clauses.reduce((kept, clause) => {
    const fewer = kept.filter((one) => one !== clause);
    return fitsOnly(fewer) ? fewer : kept;
  }, clauses);
}
