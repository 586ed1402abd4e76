// The embedded store with its engine's own Kafka connector within reach, for the sink's bench and nothing else: `turnstream
// store` refuses every statement that would open a socket. Takes its settings as that command does.
import { loadConfig } from '../config/load.ts';
import { startStore } from '../clickhouse/store-process.ts';
import { ensureStorePassword } from '../clickhouse/store/password.ts';
import { createLogger } from '../telemetry/logger.ts';
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
process.send?.({ type: 'status', status });
