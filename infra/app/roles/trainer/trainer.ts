// The trainer of one run: the learner runs in a separate thread, and one transactional writer writes the ledger.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Architecture, Learner } from '../../../../streams/core/learning.ts';
import { isPlatformError } from '../../../../streams/core/errors.ts';
import { rolloutView } from '../../../../streams/trajectory/rollout-view.ts';
import { newOwner } from '../../../../consumers/trainer/ownership.ts';
import type { RunSettings } from '../../../../streams/trainer/run-settings.ts';
import { runTrainer } from '../../../../consumers/trainer/trainer.ts';
import { RANKER_WIDTH } from '../../../../producers/rollouts/policies/ranker/features.ts';
import type { Config } from '../../../config/descriptors.ts';
import { trainsPolicy } from '../../../config/learning.ts';
import { systemClock } from '../../../lifecycle/clock.ts';
import { assertDataDir } from '../../../lifecycle/data-dir.ts';
import { createLearner } from '../../../tfjs/learner.ts';
import { connectLog, groupsOf, type LogConnection } from '../../open/connections.ts';
import { reachableAt } from '../../open/coordinator-address.ts';
import { hearQuestions } from './hear-questions.ts';
import { learningAs } from '../latency.ts';
import { learningOf } from './learning-of.ts';
import { missingForRows } from './missing-for-rows.ts';
import { throughOutages } from '../outages.ts';
import { createNotices } from '../notices.ts';
import type { RoleContext, RoleMain } from '../role.ts';
import { fileEndNotes } from './run-ends.ts';
import { fileSnapshots } from './snapshots.ts';
import { fileWeights } from '../weights.ts';
import { recordOfWorkers } from '../worker-identity.ts';

export interface TrainerArguments {
  readonly run: string;
  readonly seed: number;
  readonly steps: number;
}

/** The network that scores the candidates of the built-in policy. */
const architecture: Architecture = { format: 'mlp-f32-v1', inputs: RANKER_WIDTH, hidden: [32] };

/** In sync mode, groups are requested for one batch at a time (times `oversample`), and for the next one after that batch is trained on. */
const flowOf = ({ mode, maxStaleness, maxConcurrent, batchGroups, oversample }: Config) =>
  mode === 'sync'
    ? { maxStaleness: 0, maxConcurrent: Math.ceil(batchGroups * oversample), oversample }
    : { maxStaleness, maxConcurrent, oversample: 1 };

/** Absent for a run that trains on the recorded reward alone. */
const rewardNamesOf = (names: Config['rewardNames']): Pick<RunSettings, 'rewardNames'> =>
  names.length === 0 ? {} : { rewardNames: [...new Set(names)].sort().join() };

/** The settings of a new run. */
const settingsOf = (config: Config, { seed, steps }: TrainerArguments): RunSettings => ({
  ...{ seed, steps },
  algorithm: config.algorithm,
  dataset: config.dataset,
  groupSize: config.groupSize,
  batchGroups: config.batchGroups,
  ...flowOf(config),
  maxAttempts: config.maxAttempts,
  stalePolicy: config.stalePolicy,
  maxUnknown: config.maxUnknown,
  reward: config.reward,
  ...rewardNamesOf(config.rewardNames),
  rewardTimeoutMs: config.rewardTimeoutMs,
  maxTurns: config.maxTurns,
  maxTokens: config.maxTokens,
  maxWallMs: config.maxWallMs,
  silenceMs: config.silenceMs,
  maxDiscarded: config.maxDiscarded,
});

/** Starts to load the learner in a separate thread, while the ledger is read; undefined if this role does not train the policy itself. */
function openLearner({ config, logger }: Pick<RoleContext, 'config' | 'logger'>, run: string): Promise<Learner> | undefined {
  if (config.trainer === 'external') return undefined;
  if (!trainsPolicy(config)) {
    const { policy } = config;
    logger.warn({ run, policy }, 'the trainer does not make this policy: it collects, filters and stores, and makes no steps');
    return undefined;
  }
  const made = createLearner({ architecture, ...learningOf(config), logger, crashAt: config.crashAt });
  const learner = made.then((own) => learningAs({ config, logger }, own));
  learner.catch(() => undefined);
  return learner;
}

/** The trainer of a run; finished when its steps are done. */
export function trainerRole(options: TrainerArguments): RoleMain {
  return async (context, signal) => {
    const { config, logger, metrics, onSkipped } = context;
    const own = createNotices(context.report);
    const { report, tell } = createNotices(own.report);
    const missing = missingForRows(config);
    if (missing !== '') logger.warn({ run: options.run }, missing);
    own.tell(missing);
    // weights that do not fit into a record are written there during the run
    assertDataDir(config.dataDir);
    if (trainsPolicy(config)) report({ state: 'starting', detail: 'loading the tensor backend', figures: {} });
    const log = await connectLog({ config, clientId: 'trainer', logger, metrics, onSkipped, wholeTurns: false });
    // loaded where it is used, as the door is below: most trainers have no engine, and its HTTP client takes 0.1 s to load
    const opened = config.engines.length === 0 ? undefined : await import('./open-engines.ts');
    const engines = opened?.openEngines(context, log, { run: options.run, tell });
    try {
      const end = await train({ context: { ...context, report }, options, log }, signal);
      if (end === 'finished') await engines?.finish();
      return end;
    } finally {
      await engines?.close();
      await log.close();
    }
  };
}

interface TrainerParts {
  readonly context: RoleContext;
  readonly options: TrainerArguments;
  readonly log: LogConnection;
}

async function train({ context, options, log }: TrainerParts, signal: AbortSignal): Promise<'finished' | 'stopped'> {
  const { config, logger, metrics, report, reach } = context;
  const { run } = options;
  const learner = openLearner(context, run);
  const reader = log.kafka.reader();
  const groups = groupsOf(config.namespace);
  const producer = `trainer-${hostname()}-${process.pid}`;
  const hearing = hearQuestions({ log: reader, events: log.events }, logger);
  // loaded for external trainers alone: an HTTP server is half of the code of this role
  const door = config.trainer === 'external' ? await (await import('./door.ts')).openDoor(context, log, { run, architecture }) : undefined;
  const id = `${producer}-${randomUUID()}`;
  try {
    const deps = {
      ...{ runId: run, architecture, learner, logger, metrics, reach },
      producer,
      settings: settingsOf(config, options),
      log: reader,
      events: log.events,
      rollouts: log.eventsThrough({ view: rolloutView }),
      codec: log.codec,
      owner: newOwner(door === undefined ? id : reachableAt(id, door.url)),
      openWriter: () => log.kafka.transactional(groups.trainer(run), reach),
      offsets: log.kafka.offsets,
      index: log.kafka.runs,
      workerSettings: await recordOfWorkers(config),
      groups: { trainer: groups.trainer(run), workers: groups.workers(run) },
      ...{ weights: fileWeights(config.dataDir), snapshots: fileSnapshots(config.dataDir, run) },
      ends: fileEndNotes(config, run, () => log.kafka.clusterId()),
      questions: hearing.load,
      clock: systemClock,
      ...(door === undefined ? {} : { external: door.external }),
    };
    // A trainer reads all its state from the log: after an outage it starts like a new one.
    let began = false;
    let afterCut = false;
    const end = await throughOutages({ report, logger, signal }, async (during) => {
      await log.kafka.ping();
      try {
        return await runTrainer({ ...deps, afterCut, report: during }, signal);
      } catch (error) {
        // The last commit before the outage had finished the run, but its response was lost.
        if (began && isPlatformError(error, 'RUN_FINISHED')) return { kind: 'finished' } as const;
        began = true;
        afterCut ||= isPlatformError(error, 'LOG_CUT');
        throw error;
      }
    });
    return end?.kind ?? 'stopped';
  } finally {
    await door?.close();
    await hearing.close();
    await learner?.then(
      (loaded) => loaded.close(),
      () => undefined,
    );
  }
}
