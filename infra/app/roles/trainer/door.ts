// The HTTP endpoint for external trainers, in the trainer role. The API forwards calls to it; trainers may also call it directly.
import type { ExternalDeps } from '../../../../consumers/trainer/deps.ts';
import { createCoordinator } from '../../../../consumers/trainer/external/coordinator.ts';
import { createDesk } from '../../../../consumers/trainer/external/desk.ts';
import { createLogRows } from '../../../../consumers/trainer/external/log-rows.ts';
import { leaseRoutes } from '../../../../consumers/common/leases/leases.route.ts';
import type { Architecture, Checkpoint } from '../../../../streams/core/learning.ts';
import { findLease } from '../../../../streams/leases/find-lease.ts';
import { createHttpServer } from '../../../http/server.ts';
import { createLearner } from '../../../tfjs/learner.ts';
import type { LogConnection } from '../../open/connections.ts';
import { version } from '../../version.ts';
import type { RoleContext } from '../role.ts';
import { firstWeights } from './first-weights.ts';
import { learningOf } from './learning-of.ts';

/** Time after the end of the run in which a client can repeat a call that broke; later calls are answered by the API. */
const LINGER_MS = 5_000;

interface TrainerDoor {
  readonly url: string;
  readonly external: ExternalDeps;
  close(): Promise<void>;
}

interface DoorOf {
  readonly run: string;
  readonly architecture: Architecture;
}

/** Listens until it is closed. Calls are served once the run has started. */
export async function openDoor(context: RoleContext, log: LogConnection, { run, architecture }: DoorOf): Promise<TrainerDoor> {
  const { config, logger, metrics } = context;
  const desk = createDesk();
  const source = { log: log.kafka.reader(), events: log.events, runId: run };
  const rows = createLogRows({ ...source, events: log.eventsThrough({ late: ['TurnRecorded'] }) });
  const coordinator = createCoordinator({ runId: run, desk, rows, findLease: (batchId) => findLease(source, batchId) });
  const server = await createHttpServer({
    ...{ host: config.trainerHost, port: config.trainerPort, keys: config.apiKeys, version, logger, metrics },
    probes: [{ name: 'kafka', check: () => log.kafka.ping() }],
    metricsText: () => metrics.text(),
    status: context.status,
  });
  await server.app.register(leaseRoutes, { coordinatorOf: async () => coordinator });
  const { url } = await server.listen();
  logger.info({ url, run }, 'the coordinator is listening for the trainer of the run');
  const { leaseMs, prefetch, policy } = config;
  const initial = (seed: number): Promise<Checkpoint> => madeWeights(context, architecture, seed);
  const named = config.initialPolicyUri === '' ? {} : { named: () => firstWeights(config, run) };
  const external = { desk, rows, leaseMs, prefetch, lingerMs: LINGER_MS, ...(policy === 'ranker' ? { initial } : named) };
  return { url, external, close: () => server.close() };
}

/** The built-in policy starts with the initial weights of the built-in learner. */
async function madeWeights({ config, logger }: RoleContext, architecture: Architecture, seed: number): Promise<Checkpoint> {
  const learner = await createLearner({ architecture, ...learningOf(config), logger, crashAt: config.crashAt });
  try {
    return await learner.initial(seed);
  } finally {
    await learner.close();
  }
}
