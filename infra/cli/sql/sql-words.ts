// Reads the names for completion at the SQL prompt from the server that runs its queries.
import { functionNames } from '../../../consumers/api/sql/functions.ts';
import type { SqlWords } from './sql-completion.ts';

/** Runs a query and returns its rows as TSV. */
export type RunQuery = (query: string) => Promise<string>;

/** Names are read on first use and cached for a minute. If that fails, only the functions are cached. */
export function createSqlWords(ask: RunQuery, now: () => number): () => Promise<SqlWords> {
  let kept: { readonly at: number; readonly words: Promise<SqlWords> } | undefined;
  return () => {
    if (kept === undefined || now() - kept.at > KEPT_MS) kept = { at: now(), words: readWords(ask).catch(() => NONE) };
    return kept.words;
  };
}

const KEPT_MS = 60_000;
const NONE: SqlWords = { tables: new Map(), functions: functionNames };

async function readWords(ask: RunQuery): Promise<SqlWords> {
  const tables = new Map<string, string[]>();
  for (const row of (await ask('SHOW COLUMNS')).split('\n')) {
    const [table = '', column] = row.split('\t');
    if (column !== undefined) tables.set(table, [...(tables.get(table) ?? []), column]);
  }
  return { tables, functions: functionNames };
}
