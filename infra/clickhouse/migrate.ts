// Migrates the database to this version: forward only. Each migration is recorded with its checksum once all of its statements have run. A
// statement that creates an existing object counts as done, so that a migration that was interrupted, or that two processes run at once,
// has the same result as a single complete run. Every other statement must be safe to repeat: drops use IF EXISTS, and rows are never
// moved by INSERT … SELECT.
import { isPlatformError, PlatformError } from '../../streams/core/errors.ts';
import type { ClickHouseStore } from './client.ts';
import { applyComments } from './comments/apply-comments.ts';
import { readMigrations, type Migration } from './migration-files.ts';

export interface AppliedMigration {
  readonly name: string;
  readonly checksum: string;
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    number UInt32,
    name String,
    checksum String,
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
  ) ENGINE = MergeTree ORDER BY number
  SETTINGS non_replicated_deduplication_window = 10000`;

/** TABLE_ALREADY_EXISTS and DATABASE_ALREADY_EXISTS; columns and indices have general codes, only their text identifies them. */
const ALREADY_THERE = new Set([57, 82]);
const ALREADY_THERE_TEXT = /with this name already exists/;

/**
 * Creates the database if needed, applies missing migrations and column comments, and returns the applied migrations. Throws
 * MIGRATION_MISMATCH before any change.
 */
export async function migrate(store: ClickHouseStore, from?: readonly Migration[]): Promise<readonly AppliedMigration[]> {
  const migrations = from ?? (await readMigrations());
  await store.createDatabase();
  await store.command(TABLE);
  const applied = new Map((await recorded(store)).map((row) => [row.number, row]));
  for (const migration of migrations) check(migration, applied.get(migration.number), store.database);
  const fresh = migrations.filter(({ number }) => !applied.has(number));
  for (const migration of fresh) await apply(store, migration);
  await applyComments(store, migrations);
  return fresh.map(({ name, checksum }) => ({ name, checksum }));
}

interface Recorded {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
}

/** Two processes that record the same migration at once use the same token; if two rows exist, the first counts. */
const recorded = (store: ClickHouseStore): Promise<readonly Recorded[]> =>
  store.query<Recorded>(
    'SELECT number, argMin(name, applied_at) AS name, argMin(checksum, applied_at) AS checksum FROM schema_migrations GROUP BY number ORDER BY number',
  );

function check(migration: Migration, applied: Recorded | undefined, database: string): void {
  if (applied === undefined || applied.checksum === migration.checksum) return;
  throw new PlatformError(
    'MIGRATION_MISMATCH',
    `migrating database ${database}: ${migration.name} differs from what was applied as ${applied.name}. Use the version that applied it, or a new database`,
    { context: { name: migration.name, expected: applied.checksum, found: migration.checksum } },
  );
}

async function apply(store: ClickHouseStore, migration: Migration): Promise<void> {
  for (const statement of migration.statements) {
    await store.command(statement).catch((error: unknown) => {
      if (!isAlreadyThere(error)) throw error;
    });
  }
  const { number, name, checksum } = migration;
  await store.insert('schema_migrations', [{ number, name, checksum }], `migration-${number}-${checksum}`);
}

const isAlreadyThere = (error: unknown): boolean =>
  isPlatformError(error, 'STORE_REFUSED') &&
  (ALREADY_THERE.has(Number(error.context['clickhouseCode'])) || ALREADY_THERE_TEXT.test(error.message));
