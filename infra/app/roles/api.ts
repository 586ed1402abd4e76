// The HTTP interface: the dashboard, REST, SQL, the live stream, metrics, health and the schema registry.
import { createApi, sqlLimitsOf } from '../../../consumers/api/api.ts';
import { dashboardRoutes } from '../../../consumers/dashboard/dashboard.route.ts';
import { readSite } from '../../../consumers/dashboard/site.ts';
import type { Store } from '../../../streams/core/ports.ts';
import type { ReportStatus } from '../../../streams/core/telemetry.ts';
import { createHttpServer } from '../../http/server.ts';
import { runProbes, type Probe } from '../../http/probes.ts';
import { withDependencies } from '../../telemetry/health.ts';
import { connectLog, connectWarehouse } from '../open/connections.ts';
import type { RoleMain } from './role.ts';
import { untilAborted } from './until-aborted.ts';
import { dashboardFolder } from '../package-folder.ts';
import { version } from '../version.ts';

/** How often the dependencies are asked for the status of the role, ms. */
const LOOK_MS = 5_000;

/** Serves until it is stopped; running requests end first. */
export const apiRole: RoleMain = async (context, signal) => {
  const { config, logger, metrics, report, onSkipped } = context;
  const log = await connectLog({ config, clientId: 'api', logger, metrics, onSkipped });
  const store = connectWarehouse(config, 'api');
  const probes: readonly Probe[] = [
    { name: 'kafka', check: () => log.kafka.ping() },
    { name: 'clickhouse', check: () => migrated(store) },
  ];
  const server = await createHttpServer({
    ...{
      host: config.apiHost,
      port: config.apiPort,
      keys: config.apiKeys,
      corsOrigins: config.apiCorsOrigins,
      version,
      logger,
      metrics,
      probes,
    },
    ...{ freshMs: config.apiFreshMs, requestsPerSecond: config.apiRequestsPerSecond },
    metricsText: () => metrics.text(context.metricsOfOthers()),
    status: context.status,
    services: () => context.services().filter(({ name }) => name !== 'api'),
  });
  try {
    await createApi(server.app, {
      ...{ store, logger, metrics, events: log.events, log: log.kafka.reader(), sql: sqlLimitsOf(config) },
      registry: config.schemaRegistryUrl === '' ? log.registry : undefined,
    });
    await server.app.register(dashboardRoutes, { site: await readSite(dashboardFolder) });
    const { url, port } = await server.listen();
    logger.info({ url }, 'the API is listening');
    report({ state: 'live', detail: '', figures: { port } });
    const watch = setInterval(() => void reportHealth(probes, report, signal), LOOK_MS);
    await untilAborted(signal).finally(() => {
      clearInterval(watch);
    });
    report({ state: 'stopping', detail: '', figures: {} });
    return 'stopped';
  } finally {
    await server.close();
    await store.close();
    await log.close();
  }
};

/** Live while its dependencies answer, waiting while one does not. */
async function reportHealth(probes: readonly Probe[], report: ReportStatus, signal: AbortSignal): Promise<void> {
  const down = (await runProbes(probes)).filter(({ state }) => state === 'down').map(({ name }) => name);
  if (!signal.aborted) report(withDependencies({ state: 'live', detail: '', figures: {} }, down));
}

/** The tables are there, which the store alone answering does not say. */
async function migrated(store: Store): Promise<void> {
  await store.query('SELECT count() AS migrations FROM schema_migrations');
}
