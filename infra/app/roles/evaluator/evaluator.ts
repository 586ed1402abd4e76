// Answers questions with one policy version and records the scores: held-out questions of a set on the workers of a run, or benchmark files
// on its own worker. Everything is in the log; repeating an evaluation continues it, or returns its recorded result.
import { hostname } from 'node:os';
import type { EvaluationCompleted } from '../../../../schemas/generated/events.ts';
import { isPlatformError, PlatformError } from '../../../../streams/core/errors.ts';
import { runEvents } from '../../../../streams/core/read-log.ts';
import { evaluate, type EvaluateOptions, type TakenOver } from '../../../../producers/evaluations/evaluate.ts';
import type { Config } from '../../../config/descriptors.ts';
import { workerSettingsOf } from '../../../config/learning.ts';
import { topicPlanOf } from '../../../kafka/topics/topics.ts';
import { createBeside, type Beside } from './beside.ts';
import { connectLog, groupsOf, type LogConnection } from '../../open/connections.ts';
import { waitUntilDrained } from '../../open/drain.ts';
import { dataOfSet, type EvaluationData } from './evaluation-data.ts';
import { answeringOf, type Answering, type AnsweringOptions } from './evaluation-identity.ts';
import { openJudge } from '../judge.ts';
import type { RoleContext, RoleMain } from '../role.ts';
import { warehouseRole } from '../warehouse.ts';
import { runStartedOf } from '../run-started.ts';
import { codeOf } from '../worker-identity.ts';
import { workerRole } from '../worker/worker.ts';
import { systemClock } from '../../../lifecycle/clock.ts';

export interface EvaluatorArguments {
  readonly run: string;
  /** A version, or -1 for the newest published one. */
  readonly policy: number;
  /** The question set. Default: that of the run. */
  readonly dataset?: string;
  readonly split: 'heldout' | 'train';
  /** Maximum number of questions, the same ones for every version. */
  readonly questions: number;
  /** Samples per question; 1 = greedy decoding. */
  readonly samples: number;
  /** Questions from files, one evaluation each. Default: the questions of the set. */
  readonly data?: readonly EvaluationData[];
  /** Asks the configured judge about every answer. */
  readonly judge?: boolean;
  /** Concurrent trajectories of its own worker; undefined or 0 leaves the work to the workers of the run. */
  readonly concurrency?: number;
  /** True when no sink runs: this process then stores the log in the tables until they are complete. */
  readonly stores?: boolean;
  /** Asks again even if the evaluation is recorded. */
  readonly again?: boolean;
  /** Called before any question is asked, for each evaluation that is recorded in part or in full. */
  readonly onTakenOver?: (taken: TakenOver) => void;
  /** Called with a note for people, in one sentence. */
  readonly onNote?: (note: string) => void;
  /** Called for each evaluation. */
  readonly onCompleted: (completed: EvaluationCompleted) => void;
}

const MAX_ATTEMPTS = 3;

/** Runs one evaluation per set of questions, one after the other. */
export function evaluatorRole(options: EvaluatorArguments): RoleMain {
  return async (context, signal) => {
    const { config, name, logger, metrics, report, onSkipped } = context;
    report({ state: 'starting', detail: 'reading the questions', figures: {} });
    const log = await connectLog({ config, clientId: name, logger, metrics, onSkipped });
    const judge = options.judge === true ? openJudge(config, { logger, metrics }) : undefined;
    try {
      await evaluateAll({ log, context, options, judge: judge?.judge }, signal);
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

interface All {
  readonly log: LogConnection;
  readonly context: RoleContext;
  readonly options: EvaluatorArguments;
  readonly judge: ReturnType<typeof openJudge>['judge'] | undefined;
}

async function evaluateAll(all: All, signal: AbortSignal): Promise<void> {
  const { log, context, options } = all;
  const { config, logger } = context;
  const published = await publishedOf(log, config, options);
  const data = options.data ?? [await dataOfSet(sourceOf(log), { ...options, dataset: await datasetOf(log, config, options) })];
  const own = await prepareOwn(all);
  const answering = (): Promise<Answering> =>
    answeringOf({ ...subjectOf(options), ...own, context, log, weightsSha256: published?.sha256 }, signal);
  const beside = createBeside();
  try {
    if (isOwn(options) && options.stores === true) beside.start((stop) => warehouseRole(asHelper(context), stop));
    for (const each of data) {
      const before = await answering();
      const policyVersion = published?.version ?? before.servedVersion;
      const one = { ...all, beside, policyVersion, data: each, answering: before.answering, assertAnswering: answering };
      const { completed, isAsked } = await beside.unlessFailed(evaluateOne(one, beside.signal(signal)));
      if (before.answering['model'] !== undefined && isAsked) noteChange(options, before, await answering());
      options.onCompleted(completed);
    }
    if (options.stores === true) await beside.unlessFailed(waitUntilDrained(config, logger, signal));
  } finally {
    await beside.stop();
  }
}

const subjectOf = ({ run, concurrency = 0, judge = false }: EvaluatorArguments) => ({
  run,
  byWorkersOfRun: concurrency === 0,
  judged: judge,
});

/** A server whose weights changed during the evaluation has answered with both. */
function noteChange({ onNote }: EvaluatorArguments, before: Answering, after: Answering): void {
  if (JSON.stringify(before.answering['model']) === JSON.stringify(after.answering['model'])) return;
  const versions = before.servedVersion === after.servedVersion ? '' : `, from version ${before.servedVersion} to ${after.servedVersion}`;
  onNote?.(`the server of the model changed its weights while it was evaluated${versions}: the figures are of both`);
}

const sourceOf = ({ kafka, events }: LogConnection) => ({ log: kafka.reader(), events });

interface One extends All {
  readonly beside: Beside;
  readonly policyVersion: number;
  readonly answering: Answering['answering'];
  readonly assertAnswering: () => Promise<unknown>;
  readonly data: EvaluationData;
}

/** Also returns whether any question was asked. */
async function evaluateOne(one: One, signal: AbortSignal): Promise<{ readonly completed: EvaluationCompleted; readonly isAsked: boolean }> {
  const { log, options, policyVersion, answering, assertAnswering, data, judge } = one;
  const { config, logger, report } = one.context;
  let isAsked = true;
  const worker = ownWorker(one);
  const completed = await evaluate({
    ...{ runId: options.run, policyVersion, answering, assertAnswering, ...data },
    again: options.again ?? false,
    onTakenOver: (taken) => {
      isAsked = !taken.isComplete;
      options.onTakenOver?.(taken);
    },
    samples: options.samples,
    decoding: options.samples > 1 ? 'sample' : 'greedy',
    reward: config.reward,
    seed: 1,
    ...{ maxTurns: config.evalMaxTurns > 0 ? config.evalMaxTurns : config.maxTurns },
    ...{ maxTokens: config.maxTokens, maxWallMs: config.maxWallMs, silenceMs: config.silenceMs },
    maxAttempts: MAX_ATTEMPTS,
    ...(judge === undefined ? {} : { judge }),
    ...worker.options,
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
  }).finally(() => worker.stop());
  return { completed, isAsked };
}

/** True when a worker of this process answers, not those of the run. */
const isOwn = ({ concurrency = 0 }: EvaluatorArguments): boolean => concurrency > 0;

/** The context of a role that runs inside this one. */
const asHelper = (context: RoleContext): RoleContext => ({ ...context, report: () => undefined });

/** Prepares the log for a worker of this process, if one answers, and returns the hashes of its modules. */
async function prepareOwn({ log, context: { config }, options }: All): Promise<Pick<AnsweringOptions, 'code'>> {
  if (!isOwn(options)) return {};
  // hashed now: a module is loaded once, so later edits of it do not answer
  const code = await codeOf(workerSettingsOf(config), config);
  await log.kafka.topics.apply(topicPlanOf(config));
  await log.registry.ensurePublished();
  return { code };
}

interface OwnWorker {
  readonly options: Pick<EvaluateOptions, 'startWorker'>;
  stop(): Promise<void>;
}

/** The worker of one evaluation, if it has its own. Tasks of the run are not for it, because its settings may differ. */
function ownWorker({ log, context, options, beside }: One): OwnWorker {
  const { run, concurrency = 0 } = options;
  const own = { ...asHelper(context), config: { ...context.config, workerConcurrency: concurrency } };
  let stop: (() => Promise<void>) | undefined;
  const startWorker = async (addressee: string): Promise<void> => {
    await beginGroup(log, groupsOf(own.config.namespace).workers(run, addressee));
    stop = beside.start((signal) => workerRole({ run, addressee })(own, signal));
  };
  return {
    options: isOwn(options) ? { startWorker } : {},
    async stop() {
      await stop?.();
    },
  };
}

/** No trainer sets where the tasks of an evaluation begin. They begin now, unless an earlier call or another evaluator has set it. */
async function beginGroup({ kafka }: LogConnection, group: string): Promise<void> {
  const committed = new Map((await kafka.offsets.fetch(group, 'tasks')).map(({ partition, offset }) => [partition, offset]));
  const missing = (await kafka.reader().bounds('tasks')).filter(({ partition }) => (committed.get(partition) ?? -1) < 0);
  const starts = missing.map(({ partition, end }) => ({ topic: 'tasks' as const, partition, offset: end }));
  await kafka.setOffsets(group, starts).catch((error: unknown) => {
    if (!isPlatformError(error, 'GROUP_FENCED')) throw error;
  });
}

/** Versions that a run has published, with the hashes of their weights. */
async function publishedBy({ kafka, events }: LogConnection, run: string): Promise<ReadonlyMap<number, string>> {
  const published = new Map<number, string>();
  const start = await kafka.runs.startOf(run);
  const source = { log: kafka.reader(), events, runId: run };
  for await (const read of runEvents(source, 'policies', { from: new Map([[0, start?.policies ?? 0]]) })) {
    if (read.ok && read.value.type === 'PolicyPublished') published.set(read.value.event.version, read.value.event.sha256);
  }
  return published;
}

/** The requested set, or the one that the run trains on; without such a run, the configured one. */
async function datasetOf(log: LogConnection, config: Config, { dataset, run }: EvaluatorArguments): Promise<string> {
  if (dataset !== undefined) return dataset;
  return (await runStartedOf(log, run))?.dataset ?? config.dataset;
}

interface PublishedVersion {
  readonly version: number;
  readonly sha256: string;
}

/** The version that answers. Only the ranker has versions of a run; undefined for any other policy. */
async function publishedOf(log: LogConnection, config: Config, { run, policy }: EvaluatorArguments): Promise<PublishedVersion | undefined> {
  if (config.policy !== 'ranker') return undefined;
  const published = await publishedBy(log, run);
  if (published.size === 0) {
    throw new PlatformError('NOT_FOUND', `evaluating run ${run}: it has published no policy; start it with \`turnstream up --run ${run}\``);
  }
  const newest = Math.max(...published.keys());
  const version = policy < 0 ? newest : policy;
  const sha256 = published.get(version);
  if (sha256 !== undefined) return { version, sha256 };
  throw new PlatformError('NOT_FOUND', `evaluating run ${run}: it has published no version ${policy}; its newest is ${newest}`);
}
