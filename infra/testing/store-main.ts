// The child process of infra/testing/store.ts: `<dataDir> <port> <sessions>`; prints its address as one line of JSON.
import { messageOf, isPlatformError } from '../../streams/core/errors.ts';
import { startStore } from '../clickhouse/store-process.ts';
import { createLogger } from '../telemetry/logger.ts';

const [dataDir = '', port = '0', sessions = '4'] = process.argv.slice(2);
try {
  const store = await startStore({
    dataDir,
    port: Number(port),
    sessions: Number(sessions),
    password: process.env['TEST_STORE_PASSWORD'] ?? '',
    logger: createLogger({ level: 'warn', role: 'store' }),
    ioThreads: Number(process.env['UV_THREADPOOL_SIZE'] ?? 4),
  });
  process.once('SIGTERM', () => {
    void store.stop().then(() => process.exit(0));
  });
  process.stdout.write(`${JSON.stringify({ url: store.url, port: store.port })}\n`);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = isPlatformError(error) ? 2 : 1;
}
