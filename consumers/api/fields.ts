// Which columns a list answers with: `fields=a,b` names them. Heavy columns are only given when they are named; naming
// nothing but heavy ones adds them to all the others.
import type { Columns } from './columns.ts';

/** Names of the columns to answer with; the route has checked that each is there. */
export function columnsToRead(named: readonly string[] | undefined, columns: Columns, heavy: Columns = {}): readonly string[] {
  const names = named ?? [];
  const chosen = names.filter((name) => Object.hasOwn(columns, name));
  const added = names.filter((name) => Object.hasOwn(heavy, name));
  return [...new Set([...(chosen.length === 0 ? Object.keys(columns) : chosen), ...added])];
}
