// Answers SHOW TABLES, SHOW COLUMNS (of all tables) and DESCRIBE <table> with statements of our own. Nothing of the user's text runs: a
// text that does not match one of these forms exactly is handled like any other statement, and the table name is a bound value.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Store } from '../../../streams/core/ports.ts';

export interface CatalogueStatement {
  readonly statement: string;
  readonly params: Readonly<Record<string, string>>;
  /** The table to describe. */
  readonly table?: string;
}

/** Readable tables and views, without the temporary ones of audits or the engine. */
export const isListed = (name: string): string => `match(${name}, '^[a-z][a-z0-9_]*$') and not startsWith(${name}, 'audit_scratch_')`;

const TABLES = `select name, if(engine like '%View', 'view', 'table') as kind, total_rows as rows from system.tables
  where database = {database:String} and ${isListed('name')} order by kind, name`;

const ALL_COLUMNS = `select table, name, type, comment from system.columns
  where database = {database:String} and ${isListed('table')} order by table, position`;

const COLUMNS = `select name, type, comment from system.columns
  where database = {database:String} and table = {table:String} and ${isListed('table')} order by position`;

const SHOW = /^\s*show\s+(tables|columns)\s*;?\s*$/i;
const DESCRIBE = /^\s*(?:(?:describe|desc)(?:\s+table)?|show\s+columns\s+from)\s+([A-Za-z_]\w*)\s*;?\s*$/i;

/** Undefined for any other text. */
export function catalogueStatement(text: string, database: string): CatalogueStatement | undefined {
  const shown = SHOW.exec(text)?.[1]?.toLowerCase();
  if (shown !== undefined) return { statement: shown === 'tables' ? TABLES : ALL_COLUMNS, params: { database } };
  const table = DESCRIBE.exec(text)?.[1];
  return table === undefined ? undefined : { statement: COLUMNS, params: { database, table }, table };
}

const KNOWN = `select name from system.tables where database = {database:String} and name = {table:String} and ${isListed('name')}`;

/** Throws SQL_INVALID when the described table does not exist. */
export async function assertDescribed(store: Store, { table, params }: CatalogueStatement): Promise<void> {
  if (table === undefined || (await store.query(KNOWN, { params })).length > 0) return;
  throw new PlatformError('SQL_INVALID', `describing ${table}: there is no such table; SHOW TABLES, or \\d at the prompt, lists them`);
}
