// The read side over HTTP: every route of the API, as plugins on a server that the composition root made. Its only state is the live
// follower, the SQL gate, and figures computed from the tables, so any number of API processes can run in parallel.
import type { FastifyInstance } from 'fastify';
import type { EventReader, Logger, LogReader, SchemaRegistry, Store } from '../../streams/core/ports.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import { leaseRoutes, type LeaseRoutesOptions } from '../common/leases/leases.route.ts';
import { eventRoutes, type EventRoutesOptions } from './events/events.route.ts';
import { liveRoutes } from './live/live.route.ts';
import { comparisonRoutes, deadLetterRoutes, evaluationRoutes, questionRoutes, resultRoutes } from './questions/questions.route.ts';
import { historyRoutes } from './questions/history.route.ts';
import { registryRoutes } from './registry.route.ts';
import { costReportRoutes, rolloutReportRoutes } from './reports/reports.route.ts';
import { rewardRoutes } from './rollouts/rewards.route.ts';
import { searchRoutes, skeletonRoutes } from './rollouts/skeleton.route.ts';
import { groupRoutes, rolloutRoutes, toolCallRoutes, turnRoutes } from './rollouts/rollouts.route.ts';
import { curveRoutes } from './runs/curves.route.ts';
import { heldoutRoutes } from './runs/heldout.route.ts';
import { histogramRoutes } from './runs/histogram.route.ts';
import { ledgerRoutes } from './runs/ledger.route.ts';
import { accountRoutes, discardRoutes, runRoutes, stepRoutes } from './runs/runs.route.ts';
import { toolRoutes } from './runs/tool.route.ts';
import { selectionBiasRoutes } from './runs/selection-bias.route.ts';
import type { CountBehind } from './watch/findings.reader.ts';
import { mergedFlowRoutes } from './watch/flow-merged.route.ts';
import { flowRoutes, watchRoutes } from './watch/watch.route.ts';
import type { SqlLimits } from './sql/limits.ts';
import { sqlRoutes } from './sql/sql.route.ts';

export interface ApiDeps {
  readonly store: Store;
  readonly log: LogReader;
  readonly events: EventReader;
  /** Undefined when a Confluent registry is configured: then /registry is not served. */
  readonly registry: SchemaRegistry | undefined;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly sql: SqlLimits;
  readonly countBehind: CountBehind;
  /** Appends what other programs post. */
  readonly posting: EventRoutesOptions;
  /** Finds the coordinator of a run for its external trainer. */
  readonly coordinatorOf: LeaseRoutesOptions['coordinatorOf'];
  readonly live?: { readonly heartbeatMs?: number; readonly maxClients?: number; readonly maxBufferedBytes?: number };
}

/** The part of the configuration that bounds POST /v1/sql. */
export function sqlLimitsOf(config: {
  readonly sqlMaxSeconds: number;
  readonly sqlMaxRows: number;
  readonly sqlMaxResultMb: number;
  readonly sqlMaxMemoryMb: number;
  readonly sqlConcurrency: number;
}): SqlLimits {
  return {
    maxSeconds: config.sqlMaxSeconds,
    maxRows: config.sqlMaxRows,
    maxResultBytes: config.sqlMaxResultMb * 1_000_000,
    maxMemoryBytes: config.sqlMaxMemoryMb * 1_000_000,
    concurrency: config.sqlConcurrency,
    maxWaitMs: Math.max(2_000, config.sqlMaxSeconds * 500),
  };
}

const storeRoutes = [
  runRoutes,
  accountRoutes,
  stepRoutes,
  discardRoutes,
  selectionBiasRoutes,
  curveRoutes,
  heldoutRoutes,
  histogramRoutes,
  rolloutReportRoutes,
  costReportRoutes,
  rolloutRoutes,
  turnRoutes,
  rewardRoutes,
  skeletonRoutes,
  toolCallRoutes,
  toolRoutes,
  groupRoutes,
  questionRoutes,
  evaluationRoutes,
  resultRoutes,
  comparisonRoutes,
  deadLetterRoutes,
  historyRoutes,
  ledgerRoutes,
  searchRoutes,
  flowRoutes,
  mergedFlowRoutes,
];

/** Registers every route of the API on `app`. Call it before the server listens. */
export async function createApi(app: FastifyInstance, deps: ApiDeps): Promise<void> {
  const { store, log, events, registry, logger, metrics } = deps;
  for (const routes of storeRoutes) await app.register(routes, { store });
  await app.register(watchRoutes, { store, countBehind: deps.countBehind });
  await app.register(sqlRoutes, { store, limits: deps.sql });
  await app.register(liveRoutes, {
    store,
    log,
    events,
    logger,
    metrics,
    heartbeatMs: deps.live?.heartbeatMs ?? 15_000,
    maxClients: deps.live?.maxClients ?? 200,
    maxBufferedBytes: deps.live?.maxBufferedBytes ?? 4_000_000,
  });
  await app.register(eventRoutes, deps.posting);
  await app.register(leaseRoutes, { coordinatorOf: deps.coordinatorOf });
  if (registry !== undefined) await app.register(registryRoutes, { prefix: '/registry', registry });
}
