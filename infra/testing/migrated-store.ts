// A store whose database `turnstream` has all tables. Migrating takes longer than starting the engine, so each test run migrates
// once, and every other store begins with a copy.
import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { connectStore } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { startTestStore, type TestStore } from './store.ts';

export const migratedDatabase = 'turnstream';

/** `startTestStore` with the tables of this version. Call it in `beforeAll`. */
export async function startMigratedStore(): Promise<TestStore> {
  const made = join(inject('kafkaDataDir'), 'migrated-store');
  if (!existsSync(made)) await make(made);
  return startTestStore({ from: made });
}

async function make(path: string): Promise<void> {
  const dataDir = await mkdtemp(`${path}-`);
  const engine = await startTestStore({ dataDir });
  const store = connectStore({ url: engine.url, database: migratedDatabase });
  await migrate(store);
  await store.close();
  await engine.stop();
  // copies take ports of their own: a store that is restarted needs its port to be free
  await rm(join(dataDir, 'store', 'port'));
  // another test file may have been faster
  await rename(dataDir, path).catch(() => rm(dataDir, { recursive: true, force: true }));
}
