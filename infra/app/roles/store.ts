// The embedded store as a role. It kills itself with SIGKILL when its engine cannot continue; its supervisor, `up` or a service manager,
// restarts it.
import { startStore, type RunningStore } from '../../clickhouse/store-process.ts';
import { ensureStorePassword } from '../../clickhouse/store/password.ts';
import { messageOf } from '../../../streams/core/errors.ts';
import { assertDataDir } from '../../lifecycle/data-dir.ts';
import { aborted } from '../../lifecycle/waiting.ts';
import type { ReportStatus } from '../../../streams/core/telemetry.ts';
import type { RoleMain } from './role.ts';

/** Interval between health checks of the engine, ms. */
const LOOK_MS = 5_000;

/** Runs until it is stopped; running queries end first. */
export const storeRole: RoleMain = async ({ config, logger, report }, signal) => {
  const { dataDir, storePort, storeSessions, clickhousePassword } = config;
  assertDataDir(dataDir);
  const threads = Number(process.env['UV_THREADPOOL_SIZE']);
  const store = await startStore({
    ...{ dataDir, port: storePort, sessions: storeSessions, logger },
    password: ensureStorePassword(dataDir, clickhousePassword),
    ...(Number.isInteger(threads) && threads > 0 ? { ioThreads: threads } : {}),
  });
  report({ state: 'live', detail: '', figures: { port: store.port } });
  const watch = setInterval(() => void reportHealth(store, report, signal), LOOK_MS);
  await aborted(signal).finally(() => {
    clearInterval(watch);
  });
  report({ state: 'stopping', detail: '', figures: {} });
  await store.stop();
  return 'stopped';
};

/** Reports live while the engine answers, waiting while it does not. */
async function reportHealth(store: RunningStore, report: ReportStatus, signal: AbortSignal): Promise<void> {
  const wrong = await store.health().then(
    () => '',
    (error: unknown) => messageOf(error),
  );
  if (signal.aborted) return;
  report({ state: wrong === '' ? 'live' : 'waiting', detail: wrong, figures: { port: store.port } });
}
