// The API as it runs, for tests: the real server and routes over whatever store and log a test gives it.
import { createApi, type ApiDeps } from '../../consumers/api/api.ts';
import { dashboardRoutes } from '../../consumers/dashboard/dashboard.route.ts';
import type { Site } from '../../consumers/dashboard/site.ts';
import type { SqlLimits } from '../../consumers/api/sql/limits.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, Logger, LogReader, SchemaRegistry, Store } from '../../streams/core/ports.ts';
import type { MetricName, Metrics } from '../../streams/core/telemetry.ts';
import type { HealthProbe } from '../http/probes.ts';
import { createHttpServer, type HttpServer } from '../http/server.ts';
import { silentLogger } from './logger.ts';
import { MemoryLog } from './memory-log.ts';
import { createMemoryRegistry } from './memory-registry.ts';
import { codecReader } from './codec-reader.ts';

export const testLimits: SqlLimits = {
  maxSeconds: 5,
  maxRows: 10_000,
  maxResultBytes: 8_000_000,
  maxMemoryBytes: 500_000_000,
  concurrency: 2,
  maxWaitMs: 10_000,
};

export interface CountedMetric {
  readonly name: MetricName;
  readonly labels: Readonly<Record<string, string>>;
}

/** Metrics that keep what was counted. */
export function recordingMetrics(): Metrics & { readonly counted: CountedMetric[] } {
  const counted: CountedMetric[] = [];
  return {
    counted,
    count: (name, labels) => {
      counted.push({ name, labels });
    },
    set: () => undefined,
    observe: () => undefined,
  };
}

export interface TestApiOptions {
  readonly store: Store;
  readonly log?: MemoryLog;
  /** In place of `log`. */
  readonly source?: { readonly log: LogReader; readonly events: EventReader };
  /** Null: none is served. */
  readonly registry?: SchemaRegistry | null;
  readonly keys?: readonly string[];
  readonly dashboardToken?: string;
  readonly host?: string;
  readonly corsOrigins?: readonly string[];
  readonly limits?: Partial<SqlLimits>;
  /** Records that are not in the tables yet; none when left out. */
  readonly countBehind?: () => Promise<number>;
  readonly posting?: Partial<ApiDeps['posting']>;
  readonly live?: { readonly heartbeatMs?: number; readonly maxClients?: number; readonly maxBufferedBytes?: number };
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly probes?: readonly HealthProbe[];
  /** Files of the dashboard; it is not served when left out. */
  readonly site?: Site;
  /** Maximum age of a shared response, ms; when left out, no response is shared. */
  readonly freshMs?: number;
  /** A free one when left out. */
  readonly port?: number;
  /** When left out, no run has a coordinator. */
  readonly coordinatorOf?: ApiDeps['coordinatorOf'];
}

const nobody: ApiDeps['coordinatorOf'] = async (run) => {
  throw new PlatformError('COORDINATOR_UNAVAILABLE', `finding the coordinator of run ${run}`);
};

/** Registered and ready for inject(); call listen() for a real port. */
export async function testApi(given: TestApiOptions): Promise<HttpServer> {
  const log = given.log ?? new MemoryLog();
  const options = { logger: silentLogger, metrics: recordingMetrics(), host: '127.0.0.1', keys: [], probes: [], ...given };
  const server = await createHttpServer({
    ...options,
    port: given.port ?? 0,
    version: '0.0.0-test',
    metricsText: () => '# HELP none nothing\n',
    status: () => ({ state: 'live', detail: '', figures: {} }),
    closeTimeoutMs: 1_000,
  });
  await createApi(server.app, {
    store: options.store,
    logger: options.logger,
    metrics: options.metrics,
    ...(given.source ?? { log: log.reader(), events: codecReader(log.codec) }),
    registry: given.registry === null ? undefined : (given.registry ?? createMemoryRegistry()),
    sql: { ...testLimits, ...given.limits },
    countBehind: given.countBehind ?? (() => Promise.resolve(0)),
    coordinatorOf: given.coordinatorOf ?? nobody,
    posting: { writer: log.writer(), producer: 'api-test', clock: Date, ...given.posting },
    ...(given.live === undefined ? {} : { live: given.live }),
  });
  if (given.site !== undefined) await server.app.register(dashboardRoutes, { site: given.site });
  await server.app.ready();
  return server;
}
