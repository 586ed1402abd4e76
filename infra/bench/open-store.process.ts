// The embedded store with access to its engine's own Kafka connector, only for the sink bench: `turnstream store` rejects every statement
// that would open a socket. It takes the same settings as that command.
import { loadConfig } from '../config/load.ts';
import { startStore } from '../clickhouse/store-process.ts';
import { ensureStorePassword } from '../clickhouse/store/password.ts';
import { createLogger } from '../telemetry/logger.ts';
import type { StatusMessage } from '../telemetry/status.ts';
import type { RoleStatus } from '../../streams/core/telemetry.ts';

const { dataDir, storePort, storeSessions, clickhousePassword } = loadConfig(process.env);
const store = await startStore({
  ...{ dataDir, port: storePort, sessions: storeSessions, open: true },
  password: ensureStorePassword(dataDir, clickhousePassword),
  logger: createLogger({ level: 'warn', role: 'store' }),
  ioThreads: Number(process.env['UV_THREADPOOL_SIZE']),
});
process.once('SIGTERM', () => void store.stop().then(() => process.exit(0)));
const status: RoleStatus = { state: 'live', detail: '', figures: { port: store.port } };
process.send?.({ type: 'status', role: 'store', status } satisfies StatusMessage);
