// Sets the comments of column-comments.ts. A comment from a migration stays unless `byTable` has one for the column. Columns whose
// comment is already right cost nothing, so this can run at every start; it runs after the migrations, because a recreated view has lost
// its comments.
import { isPlatformError } from '../../../streams/core/errors.ts';
import type { ClickHouseStore } from '../client.ts';
import type { Migration } from '../migration-files.ts';
import { byName, byTable } from './column-comments.ts';

export interface CommentedColumn {
  readonly table: string;
  readonly name: string;
  readonly comment: string;
}

/** Columns of the tables and views of this database, in order, without temporary ones of an audit or the engine. */
export const readColumns = (store: ClickHouseStore): Promise<readonly CommentedColumn[]> =>
  store.query<CommentedColumn>(
    `select table, name, comment from system.columns
     where database = currentDatabase() and match(table, '^[a-z][a-z0-9_]*$') and table not like 'audit\\_scratch\\_%'
     order by table, position`,
  );

const DECLARED = /\bcomment\s+(?:column\s+\w+\s+)?'((?:[^'\\]|\\.|'')*)'/gi;

/** Comments that the migrations set themselves. */
const declaredIn = (migrations: readonly Migration[]): ReadonlySet<string> =>
  new Set(
    migrations
      .flatMap(({ statements }) => statements.flatMap((text) => [...text.matchAll(DECLARED)]))
      .map(([, said = '']) => said.replace(/\\(.)|'(')/gs, '$1$2')),
  );

function wanted({ table, name, comment }: CommentedColumn, declared: ReadonlySet<string>): string {
  return byTable[table]?.[name] ?? (declared.has(comment) ? comment : (byName[name] ?? comment));
}

/** One statement per table with outdated comments. */
export async function applyComments(store: ClickHouseStore, migrations: readonly Migration[]): Promise<void> {
  const declared = declaredIn(migrations);
  const changes = new Map<string, string[]>();
  for (const column of await readColumns(store)) {
    const comment = wanted(column, declared);
    if (comment === column.comment) continue;
    const change = `comment column \`${column.name}\` ${quoted(comment)}`;
    changes.set(column.table, [...(changes.get(column.table) ?? []), change]);
  }
  for (const [table, parts] of changes) {
    await store.command(`alter table \`${table}\` ${parts.join(', ')}`).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
  }
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

/**
 * Another process is changing the table and sets its comments as well. UNKNOWN_TABLE, NOT_FOUND_COLUMN_IN_BLOCK, NO_SUCH_COLUMN_IN_TABLE.
 */
const GONE = new Set([60, 10, 16]);

const isGone = (error: unknown): boolean => isPlatformError(error, 'STORE_REFUSED') && GONE.has(Number(error.context['clickhouseCode']));
