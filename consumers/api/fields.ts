// Selects the columns of a list's response: `fields=a,b` names them. Heavy columns are returned only when named; naming only heavy columns
// adds them to all light ones.
import type { ColumnKinds } from './columns.ts';

/** Names of the columns to return; the route has checked that each exists. */
export function columnsToRead(named: readonly string[] | undefined, columns: ColumnKinds, heavy: ColumnKinds = {}): readonly string[] {
  const names = named ?? [];
  const chosen = names.filter((name) => Object.hasOwn(columns, name));
  const added = names.filter((name) => Object.hasOwn(heavy, name));
  return [...new Set([...(chosen.length === 0 ? Object.keys(columns) : chosen), ...added])];
}
