// The HTTP interface: the dashboard, REST, SQL, the live stream, metrics, health and the schema registry.
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createApi, sqlLimitsOf } from '../../../consumers/api/api.ts';
import { readAllFindings } from '../../../consumers/api/watch/findings.reader.ts';
import { dashboardRoutes } from '../../../consumers/dashboard/dashboard.route.ts';
import { readSite } from '../../../consumers/dashboard/site.ts';
import type { Store } from '../../../streams/core/ports.ts';
import type { ReportStatus } from '../../../streams/core/telemetry.ts';
import { createHttpServer } from '../../http/server.ts';
import { runProbes, type HealthProbe } from '../../http/probes.ts';
import { withDependencies } from '../../telemetry/health.ts';
import { systemClock } from '../../lifecycle/clock.ts';
import { aborted } from '../../lifecycle/waiting.ts';
import { createWebhook } from '../../web/webhook.ts';
import { connectLog, connectWarehouse, groupsOf } from '../open/connections.ts';
import { countBehind } from '../open/count-behind.ts';
import type { RoleContext, RoleMain } from './role.ts';
import { watchAdvisories, type AdvisoryWatch } from './advisory-watch.ts';
import { coordinatorOf } from '../open/coordinator-of-run.ts';
import { linkWithTicket } from '../../http/tickets.ts';
import { keepDashboardToken, withDashboardToken } from '../open/dashboard-token.ts';
import { dashboardFolder } from '../package-folder.ts';
import { version } from '../version.ts';

/** How often the dependencies are checked for the status of the role, ms. */
const LOOK_MS = 5_000;

/** Serves until it is stopped; running requests end first. */
export const apiRole: RoleMain = async (context, signal) => {
  const config = withDashboardToken(context.config);
  keepDashboardToken(context.config, config);
  const { logger, metrics, report, onSkipped } = context;
  const log = await connectLog({ config, clientId: 'api', logger, metrics, onSkipped });
  const store = connectWarehouse(config, 'api');
  const behind = (): Promise<number> => countBehind(log.kafka, groupsOf(config.namespace).warehouse);
  const probes: readonly HealthProbe[] = [
    { name: 'kafka', check: () => log.kafka.ping() },
    { name: 'clickhouse', check: () => migrated(store) },
  ];
  const server = await createHttpServer({
    ...{
      host: config.apiHost,
      port: config.apiPort,
      keys: config.apiKeys,
      dashboardToken: config.dashboardToken,
      corsOrigins: config.apiCorsOrigins,
      version,
      logger,
      metrics,
      probes,
    },
    ...{ names: config.apiNames, freshMs: config.apiFreshMs, requestsPerSecond: config.apiRequestsPerSecond },
    metricsText: () => metrics.text(context.metricsOfOthers()),
    status: context.status,
    services: () => context.services().filter(({ name }) => name !== 'api'),
  });
  try {
    await createApi(server.app, {
      ...{ store, logger, metrics, events: log.events, log: log.kafka.reader(), sql: sqlLimitsOf(config) },
      registry: config.schemaRegistryUrl === '' ? log.registry : undefined,
      countBehind: behind,
      posting: { writer: await log.kafka.writer(), producer: `api-${hostname()}-${process.pid}`, clock: systemClock },
      coordinatorOf: async (run, headers) => coordinatorOf({ log, group: groupsOf(config.namespace).trainer(run) }, run, headers),
    });
    await server.app.register(dashboardRoutes, { site: await readSite(dashboardFolder) });
    const { url, port } = await server.listen();
    // a supervisor that made the token shows the link itself
    const link = context.config.dashboardToken === config.dashboardToken ? {} : { sign_in: linkWithTicket(url, config.dashboardToken) };
    logger.info({ url, ...link }, 'the API is listening');
    report({ state: 'live', detail: '', figures: { port } });
    const watch = setInterval(() => void reportHealth(probes, report, signal), LOOK_MS);
    const told = { look: () => readAllFindings(store, behind), address: config.apiPublicUrl === '' ? url : config.apiPublicUrl };
    await Promise.all([aborted(signal), tellOfAdvisories(context, told, signal)]).finally(() => {
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
async function reportHealth(probes: readonly HealthProbe[], report: ReportStatus, signal: AbortSignal): Promise<void> {
  const down = (await runProbes(probes)).filter(({ state }) => state === 'down').map(({ name }) => name);
  if (!signal.aborted) report(withDependencies({ state: 'live', detail: '', figures: {} }, down));
}

/** Fails unless the tables exist; a store that answers may not have them yet. */
async function migrated(store: Store): Promise<void> {
  await store.query('SELECT count() AS migrations FROM schema_migrations');
}

const WEBHOOK_RETRIES = 5;
const WEBHOOK_TIMEOUT_MS = 10_000;

/** Sends advisories to the configured webhook, if there is one, until the signal aborts. */
async function tellOfAdvisories(
  { config, logger, metrics }: RoleContext,
  told: Pick<AdvisoryWatch, 'look' | 'address'>,
  signal: AbortSignal,
): Promise<void> {
  const { webhookUrl: url, webhookHosts: allowed } = config;
  if (url === '') return;
  const webhook = createWebhook({ url, allowed, retries: WEBHOOK_RETRIES, timeoutMs: WEBHOOK_TIMEOUT_MS, random: Math.random });
  const path = join(config.dataDir, 'advisories.json');
  await watchAdvisories({ ...told, webhook, path, clock: systemClock, logger, metrics }, signal);
  await webhook.close();
}
