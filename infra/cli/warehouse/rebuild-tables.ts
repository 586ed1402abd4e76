// Drops and recreates the tables of the project. Nothing else in the database is touched.
//
// After a crash in between, the tables are missing and the command can be repeated: the record of the migrations is dropped last, so that
// no process recreates empty tables while the sink's offsets are still at the end of the log. A sink that starts in between fails on a
// missing table and stores nothing.
import type { TableName } from '../../../consumers/warehouse/rows/tables.ts';
import { isPlatformError } from '../../../streams/core/errors.ts';
import type { Position } from '../../../streams/core/ports.ts';
import type { ClickHouseStore } from '../../clickhouse/client.ts';
import { migrate } from '../../clickhouse/migrate.ts';
import { readMigrations } from '../../clickhouse/migration-files.ts';

const CREATES = /^create\s+(?:or\s+replace\s+)?(?:materialized\s+)?(?:table|view)\s+(?:if\s+not\s+exists\s+)?`?(\w+)`?/i;
const UNKNOWN_TABLE = 60;

/** Drops every table and view that a migration creates, with its content. */
export async function dropTables(store: ClickHouseStore): Promise<void> {
  const made = new Set<string>();
  for (const { statements } of await readMigrations()) {
    for (const statement of statements) {
      const name = CREATES.exec(statement.replace(/^(?:\s|--[^\n]*\n|\/\*.*?\*\/)*/s, ''))?.[1];
      if (name !== undefined) made.add(name);
    }
  }
  // Later objects may read earlier ones.
  for (const name of [...made].reverse()) {
    await store.command(`drop table if exists ${name} sync`, { settings: { max_table_size_to_drop: 0 } });
  }
}

/** Recreates empty tables with the migrations of this version. */
export async function createTables(store: ClickHouseStore): Promise<void> {
  await store.command('drop table if exists schema_migrations sync');
  await migrate(store);
}

/** Rows of a table from before these positions: their records are no longer in the log. */
export async function rowsBefore(store: ClickHouseStore, table: TableName, firsts: readonly Position[]): Promise<number> {
  const kept = firsts.filter(({ offset }) => offset > 0);
  if (kept.length === 0) return 0;
  const params = {
    topic: kept[0]?.topic ?? '',
    partitions: kept.map(({ partition }) => partition),
    firsts: kept.map(({ offset }) => offset),
  };
  try {
    const [found] = await store.query<{ total: number }>(
      `select count() as total from ${table} where _topic = {topic:String}
       and _offset < transform(_partition, {partitions:Array(Int32)}, {firsts:Array(Int64)}, toInt64(0))`,
      { params },
    );
    return found?.total ?? 0;
  } catch (error) {
    if (isPlatformError(error, 'STORE_REFUSED') && Number(error.context['clickhouseCode']) === UNKNOWN_TABLE) return 0;
    throw error;
  }
}
