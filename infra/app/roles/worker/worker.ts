// A rollout worker: the configured tools and the policy (the ranker, a language model or a user's own), which is loaded only when it is
// used.
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { createHash, randomBytes } from 'node:crypto';
import type { Tool } from '../../../../streams/core/agents.ts';
import { noMetrics } from '../../../../streams/core/telemetry.ts';
import { incarnationId } from '../../../../streams/trajectory/worker-id.ts';
import { kindsOf } from '../../../../streams/core/tools.ts';
import { createWorker } from '../../../../producers/rollouts/worker/worker.ts';
import { openJudge, type OpenJudge } from '../judge.ts';
import { connectLog, type LogConnection } from '../../open/connections.ts';
import type { Deciding } from './deciding.ts';
import { actingAs } from '../latency.ts';
import { throughOutages } from '../outages.ts';
import { ownDeciding } from './own-module.ts';
import { createNotices, type Notices } from '../notices.ts';
import type { RoleContext, RoleMain } from '../role.ts';
import { assertFitting } from '../run-started.ts';
import { toolsOf } from './tools-of.ts';
import { systemClock } from '../../../lifecycle/clock.ts';
import { aborted } from '../../../lifecycle/waiting.ts';

export interface WorkerArguments {
  readonly run: string;
  /** If set, the worker takes only the tasks of this evaluation, and its settings may differ from those of the run. */
  readonly addressee?: string;
}

/** A worker of one run. An outage ends its attempts in progress; their work is lost. */
export function workerRole(options: WorkerArguments): RoleMain {
  return async (context, signal) => {
    const { logger } = context;
    const { report, tell } = createNotices(context.report);
    const end = await throughOutages({ report, logger, signal }, (during) =>
      live({ ...options, context: { ...context, report: during }, tell }, signal),
    );
    return end ?? 'stopped';
  };
}

async function live(parts: Omit<WorkerParts, 'log'>, signal: AbortSignal): Promise<'stopped'> {
  const { config, name, logger, metrics, onSkipped } = parts.context;
  const log = await connectLog({ config, clientId: name, logger, metrics, onSkipped });
  try {
    await log.kafka.ping();
    return await work({ ...parts, log }, signal);
  } catch (error) {
    // asked to stop before it started
    if (signal.aborted && error === signal.reason) return 'stopped';
    throw error;
  } finally {
    await log.close();
  }
}

interface WorkerParts extends WorkerArguments {
  readonly context: RoleContext;
  /** Sets a notice in the status of the worker. */
  readonly tell: Notices['tell'];
  readonly log: LogConnection;
}

/** Tensors take most of a worker's memory, so a worker that queries a language model never loads them. */
async function decidingOf(parts: WorkerParts, tools: readonly Tool[], onFailure: (error: unknown) => void): Promise<Deciding> {
  if (parts.context.config.policy === 'llm') {
    const { llmDeciding } = await import('./deciding-llm.ts');
    return llmDeciding(parts, kindsOf(tools));
  }
  if (parts.context.config.policy === 'module') return ownDeciding(parts.context.config.policyModule);
  const { rankerDeciding } = await import('./deciding-ranker.ts');
  return rankerDeciding({ ...parts, onFailure });
}

/** Under a supervisor: the name and host, a hash of the data directory, and a number that grows from one start to the next. */
function workerIdOf({ config, name, supervised }: RoleContext): string {
  const own = `${name}-${hostname()}`;
  if (!supervised) return `${own}-${randomBytes(4).toString('hex')}`;
  const home = createHash('sha256').update(resolve(config.dataDir)).digest('hex').slice(0, 8);
  return incarnationId({ place: `${own}-${home}`, number: systemClock.now() });
}

async function work(parts: WorkerParts, signal: AbortSignal): Promise<'stopped'> {
  const { context, run, addressee, log } = parts;
  const { config, logger, metrics, report, reach } = context;
  const failure = new AbortController();
  // Reading the profiles takes a while, in which the trainer can publish the first policy.
  const toolSet = await toolsOf(config);
  const judging = rewardJudgeOf(context);
  const deciding = await decidingOf(parts, toolSet.tools, (error) => {
    failure.abort(error);
  });
  const { policy, tools, mark } = actingAs(context, deciding.policy, toolSet.tools);
  await deciding.start(signal);
  await fit(parts, failure, signal);
  const worker = createWorker({
    runId: run,
    ...(addressee === undefined ? {} : { addressee }),
    workerId: `${workerIdOf(context)}${mark}`,
    namespace: config.namespace,
    tasks: log.kafka.group(),
    writer: await log.kafka.writer(),
    reader: log.events,
    offsets: log.kafka.offsets,
    log: log.kafka.reader(),
    index: log.kafka.runs,
    newestVersion: () => deciding.newestVersion(),
    onNewest: (listener) => deciding.onNewest?.(listener),
    policy,
    ...(deciding.memory === undefined ? {} : { memory: deciding.memory }),
    tools,
    ...(judging === undefined ? {} : { rewardJudge: { judge: judging.judge, share: config.rewardJudge } }),
    ...(config.policy === 'llm' ? { validShare: config.llmValidRatio } : {}),
    episode: { stepReward: config.stepReward, answersToEnd: config.answersToEnd },
    clock: systemClock,
    ...{ logger, metrics, report, reach },
    options: { concurrency: config.workerConcurrency, heartbeatMs: config.heartbeatMs, graceMs: 3_000, drainMs: 5_000 },
  });
  try {
    await worker.start(signal);
    await Promise.race([aborted(AbortSignal.any([signal, failure.signal])), worker.finished]);
    failure.signal.throwIfAborted();
  } finally {
    await worker.stop();
    judging?.close();
    await deciding.close();
    await toolSet.close();
  }
  return 'stopped';
}

/** Its requests do not count in the metrics of the policy model. */
const rewardJudgeOf = ({ config, logger }: RoleContext): OpenJudge | undefined =>
  config.rewardJudge > 0 ? openJudge(config, { logger, metrics: noMetrics }) : undefined;

/** Rejects when the run was started with other worker settings; if it has not begun, aborts `failure` when it begins with others. */
async function fit({ context, run, log, addressee }: WorkerParts, failure: AbortController, signal: AbortSignal): Promise<void> {
  if (addressee !== undefined) return;
  const { begun } = await assertFitting({ log, run, config: context.config, signal });
  begun.catch((error: unknown) => {
    if (!signal.aborted) failure.abort(error);
  });
}
