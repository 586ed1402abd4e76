// Settings for programs that use the Kafka server that all tests share, and a store of their own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useKafka } from './kafka.ts';
import { migratedDatabase, startMigratedStore } from './migrated-store.ts';
import { endPrograms, type TestHome } from './up.ts';

/** A namespace, a database and a data directory for exclusive use. Call it in `beforeAll`. */
export async function sharedHome(settings: Readonly<Record<string, string>>): Promise<TestHome> {
  const [kafka, store] = await Promise.all([useKafka(), startMigratedStore()]);
  const dataDir = mkdtempSync(join(tmpdir(), 'turnstream-home-'));
  return {
    dataDir,
    env: {
      KAFKA_BROKERS: kafka.brokers.join(','),
      CLICKHOUSE_URL: store.url,
      TURNSTREAM_DATA_DIR: dataDir,
      TURNSTREAM_NAMESPACE: kafka.namespace,
      TURNSTREAM_CLICKHOUSE_DATABASE: migratedDatabase,
      TURNSTREAM_KAFKA_SESSION_MS: '2000',
      TURNSTREAM_LOG_LEVEL: 'warn',
      ...settings,
    },
    async remove() {
      await endPrograms(dataDir);
      await store.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
