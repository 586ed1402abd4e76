// Answers questions with one policy version and records the scores: held-out questions of a set by the workers of a run,
// or files of benchmarks by a worker of its own. Everything is in the log; the same evaluation again goes on with it, or
// gives the recorded result.
import { createHash } from 'node:crypto';
import { parse } from 'node:path';
import { hostname } from 'node:os';
import type { EvaluationCompleted } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { evaluate } from '../../producers/evaluations/evaluate.ts';
import type { Config } from '../config/descriptors.ts';
import { topicPlanOf } from '../kafka/topics.ts';
import { startBeside } from './beside.ts';
import { connectLog, groupsOf, type LogConnection } from './connections.ts';
import { waitUntilDrained } from './drain.ts';
import { dataOfSet, type EvaluationData } from './evaluation-data.ts';
import { openJudge } from './judge.ts';
import type { RoleContext, RoleMain } from './role.ts';
import { warehouseRole } from './warehouse.ts';
import { runStartedOf } from './run-started.ts';
import { workerRole } from './worker.ts';
import { systemClock } from '../lifecycle/clock.ts';

export interface EvaluatorArguments {
  readonly run: string;
  /** A version, or -1 for the newest that is published. */
  readonly policy: number;
  /** The question set; that of the run unless given. */
  readonly dataset?: string;
  readonly split: 'heldout' | 'train';
  /** Questions at most, the same ones for every version. */
  readonly questions: number;
  /** Samples a question; 1 is decoded greedily. */
  readonly samples: number;
  /** Questions of files, one evaluation each; those of the set unless given. */
  readonly data?: readonly EvaluationData[];
  /** Asks the configured judge about every answer. */
  readonly judge?: boolean;
  /** Trajectories at once of a worker of its own; without it the workers of the run have to answer. */
  readonly concurrency?: number;
  /** True when nobody else puts the log into the tables: this process does, until all of it is there. */
  readonly stores?: boolean;
  /** Called for each evaluation. */
  readonly onCompleted: (completed: EvaluationCompleted) => void;
}

const MAX_ATTEMPTS = 3;

/** One evaluation for each set of questions, one after the other. */
export function evaluatorRole(options: EvaluatorArguments): RoleMain {
  return async (context, signal) => {
    const { config, name, logger, metrics, report, onSkipped } = context;
    report({ state: 'starting', detail: 'reading the questions', figures: {} });
    const log = await connectLog({ config, clientId: name, logger, metrics, onSkipped });
    const judge = options.judge === true ? openJudge(config, { logger, metrics }) : undefined;
    try {
      const policyVersion = await versionOf(log, config, options);
      const data = options.data ?? [await dataOfSet(sourceOf(log), { ...options, dataset: await datasetOf(log, config, options) })];
      const beside = await helpers(log, context, options);
      try {
        for (const each of data) {
          const asked = evaluateOne({ log, context, options, policyVersion, data: each, judge: judge?.judge }, beside.signal(signal));
          options.onCompleted(await beside.unlessFailed(asked));
        }
        if (options.stores === true) await beside.unlessFailed(waitUntilDrained(config, logger, signal));
      } finally {
        await beside.stop();
      }
      return 'finished';
    } catch (error) {
      if (signal.aborted) return 'stopped';
      throw error;
    } finally {
      judge?.close();
      await log.close();
    }
  };
}

const sourceOf = ({ kafka, events }: LogConnection) => ({ log: kafka.reader(), events });

interface One {
  readonly log: LogConnection;
  readonly context: RoleContext;
  readonly options: EvaluatorArguments;
  readonly policyVersion: number;
  readonly data: EvaluationData;
  readonly judge: ReturnType<typeof openJudge>['judge'] | undefined;
}

async function evaluateOne(one: One, signal: AbortSignal): Promise<EvaluationCompleted> {
  const { log, options, policyVersion, data, judge } = one;
  const { config, logger, report } = one.context;
  return evaluate({
    ...{ runId: options.run, policyVersion, ...data },
    samples: options.samples,
    decoding: options.samples > 1 ? 'sample' : 'greedy',
    reward: config.reward,
    seed: 1,
    ...{ maxTurns: config.evalMaxTurns > 0 ? config.evalMaxTurns : config.maxTurns },
    ...{ maxTokens: config.maxTokens, maxWallMs: config.maxWallMs, silenceMs: config.silenceMs },
    maxAttempts: MAX_ATTEMPTS,
    ...(judge === undefined ? {} : { judge }),
    writer: await log.kafka.writer(),
    reader: log.kafka.reader(),
    events: log.events,
    clock: systemClock,
    logger,
    producer: `evaluator-${hostname()}-${process.pid}`,
    signal,
    onProgress: ({ scored, total }) => {
      report({ state: 'live', detail: '', figures: { scored, total } });
    },
  });
}

/** A worker and a sink of this process, as far as they are wanted. */
async function helpers(log: LogConnection, context: RoleContext, { run, concurrency = 0, stores = false }: EvaluatorArguments) {
  if (concurrency === 0) return startBeside([]);
  await log.kafka.topics.apply(topicPlanOf(context.config));
  await log.registry.ensurePublished();
  await beginGroup(log, groupsOf(context.config.namespace).workers(run));
  const own = { ...context, report: () => undefined, config: { ...context.config, workerConcurrency: concurrency } };
  const worker = (signal: AbortSignal) => workerRole({ run, anySettings: true })(own, signal);
  return startBeside(stores ? [worker, (signal) => warehouseRole(own, signal)] : [worker]);
}

/** Where no trainer says where the tasks of a run begin, they begin now: nothing older is wanted. */
async function beginGroup({ kafka }: LogConnection, group: string): Promise<void> {
  const committed = new Map((await kafka.offsets.fetch(group, 'tasks')).map(({ partition, offset }) => [partition, offset]));
  const missing = (await kafka.reader().bounds('tasks')).filter(({ partition }) => (committed.get(partition) ?? -1) < 0);
  if (missing.length === 0 || (await kafka.offsets.members(group)) > 0) return;
  await kafka.setOffsets(
    group,
    missing.map(({ partition, end }) => ({ topic: 'tasks', partition, offset: end })),
  );
}

/** Versions that a run has published. */
async function publishedBy({ kafka, events }: LogConnection, run: string): Promise<ReadonlySet<number>> {
  const published = new Set<number>();
  const start = await kafka.runs.startOf(run);
  await kafka.reader().readToEnd('policies', {
    from: new Map([[0, start?.policies ?? 0]]),
    onBatch: async ({ records }) => {
      for (const record of records) {
        if (record.headers['run-id']?.toString() !== run) continue;
        const read = await events.read(record);
        if (read.ok && read.value.type === 'PolicyPublished') published.add(read.value.event.version);
      }
    },
  });
  return published;
}

/** The set that was asked for, or that the run learns from; without such a run that of the configuration. */
async function datasetOf(log: LogConnection, config: Config, { dataset, run }: EvaluatorArguments): Promise<string> {
  if (dataset !== undefined) return dataset;
  return (await runStartedOf(log, run))?.dataset ?? config.dataset;
}

/** The version that answers; only the ranker has those of a run. */
async function versionOf(log: LogConnection, config: Config, { run, policy }: EvaluatorArguments): Promise<number> {
  if (config.policy !== 'ranker') return -1;
  const published = await publishedBy(log, run);
  if (published.size === 0) {
    throw new PlatformError('NOT_FOUND', `evaluating run ${run}: it has published no policy; start it with \`turnstream up --run ${run}\``);
  }
  if (policy < 0) return Math.max(...published);
  if (published.has(policy)) return policy;
  throw new PlatformError(
    'NOT_FOUND',
    `evaluating run ${run}: it has published no version ${policy}; its newest is ${Math.max(...published)}`,
  );
}

/** What answers where no run does: its name, and the settings that make it another one. */
function foreignOf(config: Config): { readonly name: string; readonly settings: readonly unknown[] } {
  if (config.policy === 'module') return { name: parse(config.policyModule).name, settings: [config.policyModule] };
  const { llmApi, llmMemory, llmTemperature, llmTopP, llmMaxTokens, llmEnoughDocuments, llmEnoughCalls, llmExtra, llmModel: name } = config;
  return { name, settings: [llmApi, llmMemory, llmTemperature, llmTopP, llmMaxTokens, llmEnoughDocuments, llmEnoughCalls, llmExtra, name] };
}

/** Name of the run that evaluations belong to when there is none: the same for the same model and settings, or module. */
export function runOfModel(config: Config): string {
  const { name, settings } = foreignOf(config);
  const hash = createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 8);
  const model = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  return `eval-${model === '' ? 'model' : model}-${hash}`;
}
