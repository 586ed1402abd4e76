// The trainer of one run: fold, decide, batch, train, commit. Guarantees: one transaction per step makes the step, its discards, the new
// policy, new requests, and the input offsets visible together. All state is a fold of the log, so a trainer that is killed at any point is
// replaced by one that folds the log again and continues. A newer trainer of the same run fences this one. The fold continues while the
// learner trains in its own thread; only a commit pauses it, for the duration of the transaction.
import { randomUUID } from 'node:crypto';
import type { Learner } from '../../streams/core/learning.ts';
import type { RunStart, TransactionalWriter } from '../../streams/core/ports.ts';
import { EXTERNAL, NO_LEARNER } from '../../streams/run/fold.ts';
import { resumeOf } from '../../streams/run/resume.ts';
import { createWake, type Wake } from '../../streams/core/waiting.ts';
import { policyFields, restoreCheckpoint } from './checkpoints.ts';
import { createCommitter, type Committer } from './committer.ts';
import { committedMarks, watchForCuts } from './cut-log.ts';
import type { TrainerDeps, TrainerEnd, TrainerLife } from './deps.ts';
import { learnerRecord, parameterDifferences, recordedLearner } from './learner-record.ts';
import { createListening } from './listening.ts';
import type { WorkerSign } from '../../streams/trainer/heard-workers.ts';
import { createLiveness } from '../../streams/trainer/liveness.ts';
import { live } from './live.ts';
import { policyOf } from './external/commit.ts';
import { explainFence, newOwner, openOwned, type TrainerOwner } from './ownership.ts';
import { recoverRun, type Recovered } from './recover.ts';
import { restoreRequests } from './restore-requests.ts';
import { createRewardWait } from './reward-wait.ts';
import { createRolloutFeed, type RolloutFeed } from './rollout-feed.ts';
import { assertOpen, assertSameTrainer, continueRun } from './run-end.ts';
import { assertWorkerSettings, differences, settingsOf, settingsRecord } from './settings.ts';
import { createWorkerClocks } from './worker-clocks.ts';

/** The dependencies of a trainer. Its learner may still be loading while the ledger is read. */
export type RunTrainerDeps = Omit<TrainerDeps, 'learner'> & { readonly learner: Learner | Promise<Learner> | undefined };

/** Runs the trainer until its steps are done or `signal` aborts. Rejects when it is fenced or cannot continue. */
export async function runTrainer(deps: RunTrainerDeps, signal: AbortSignal): Promise<TrainerEnd> {
  deps.report({ state: 'starting', detail: 'reading the ledger', figures: {} });
  const ownership = { ...deps, owner: deps.owner ?? newOwner(randomUUID()) };
  const writer = await openOwned(ownership);
  const wake = createWake(deps.clock);
  const stop = (): void => {
    wake.now();
  };
  signal.addEventListener('abort', stop);
  let feed: RolloutFeed | undefined;
  try {
    const life = await bringUp(ownership, writer, wake);
    feed = life.feed;
    return await live(life, signal);
  } catch (error) {
    throw await explainFence(ownership, error);
  } finally {
    signal.removeEventListener('abort', stop);
    await feed?.close();
    await writer.close();
  }
}

async function bringUp(
  options: RunTrainerDeps & { readonly owner: TrainerOwner },
  writer: TransactionalWriter,
  wake: Wake,
): Promise<TrainerLife> {
  const recovered = await recoverRun({
    ...options,
    ...startsOf(options),
    marks: () => committedMarks(options.offsets, options.groups.trainer),
  });
  const { state } = recovered;
  const deps = { ...options, learner: await options.learner };
  await assertOpen(deps, state);
  assertSameTrainer(deps, state);
  if (state.started !== undefined) assertWorkerSettings(deps.workerSettings, state.started);
  const used = state.started === undefined ? deps.settings : settingsOf(deps.settings, state.started, state.plannedSteps);
  const recorded = state.started === undefined ? undefined : recordedLearner(state.started).parameters;
  const differing = [...differences(deps.settings, used), ...parameterDifferences(deps.learner?.parameters, recorded)];
  if (differing.length > 0) deps.logger.warn({ differing }, 'the run was started with other settings and keeps them');
  const questions = await deps.questions(used.dataset, used.seed);
  const author = { runId: deps.runId, producer: deps.producer, codec: deps.codec, now: () => Math.round(deps.clock.now() * 1000) };
  const clocks = createWorkerClocks();
  const monotonic = (): number => deps.clock.monotonic();
  const committer = createCommitter({
    ...{ ...deps, author, state, settings: used, questions, writer, start: recovered.start },
    ...{ offsetsGroup: deps.groups.trainer, claim: deps.owner.id },
    ...{ nowMs: monotonic, workerNow: (workerId, nowMs) => clocks.read(workerId, nowMs) },
  });
  if (state.started === undefined) await beginRun({ ...deps, settings: used }, recovered, committer);
  else await deps.learner?.restore(await restoreCheckpoint(deps, state, recovered.start.policies), recorded);
  if (state.finished !== undefined) await continueRun(deps, state, committer);
  const notice = tellMissing(deps, recovered, restoreRequests(state, { producer: deps.producer, settings: used, questions }));
  const liveness = createLiveness({ silenceMs: used.silenceMs });
  const watch = watchForCuts(deps.log, { rollouts: state.rolloutPositions, tasks: state.taskPositions }, wake.fail);
  const listening = createListening({
    ...{ watch, positions: state.rolloutPositions, monotonic, silenceMs: used.silenceMs },
    onInterrupted: (nowMs) => {
      liveness.live(nowMs);
    },
  });
  const signs = {
    heard(workerId: string, sign: Omit<WorkerSign, 'nowMs'>): void {
      liveness.heard(workerId, { ...sign, nowMs: listening.now() });
      clocks.note(workerId, sign.timestampMs, deps.clock.monotonic());
    },
    live(): void {
      liveness.live(listening.now());
    },
  };
  const onFolded = (): void => {
    listening.folded();
    wake.now();
  };
  const feed = createRolloutFeed({ ...deps, state, signs, onFolded, onError: wake.fail });
  await feed.start();
  const rewardWait = createRewardWait({ timeoutMs: used.rewardTimeoutMs ?? Infinity });
  return { ...deps, state, used, notice, committer, writer, feed, liveness, rewardWait, listening, watch, wake, start: recovered.start };
}

const startsOf = ({ index, offsets, groups }: RunTrainerDeps) =>
  index === undefined ? {} : { starts: { index, committed: () => committedStart(offsets, groups.trainer) } };

/** Finds where the run begins: the trainer's consumer group has that position as its committed offsets. */
async function committedStart(offsets: TrainerDeps['offsets'], group: string): Promise<RunStart | undefined> {
  const of = async (topic: keyof RunStart): Promise<number> => (await offsets.fetch(group, topic))[0]?.offset ?? -1;
  const [training, policies] = await Promise.all([of('training'), of('policies')]);
  return training < 0 ? undefined : { training, policies: Math.max(0, policies) };
}

/** Reports once what the log no longer has. Returns the detail for the role's health, empty if nothing is missing. */
function tellMissing({ logger, metrics }: TrainerDeps, { skipped, cut }: Recovered, restored: number): string {
  for (const { topic, from, to } of skipped) metrics.count('trainer_skipped_records_total', { topic }, to - from);
  metrics.count('trainer_restored_requests_total', {}, restored);
  for (const { topic } of cut) metrics.count('trainer_log_cuts_total', { topic });
  if (skipped.length + cut.length === 0 && restored === 0) return '';
  const ranges = skipped.map(({ topic, partition, from, to }) => `${topic}/${partition} ${from}-${to - 1}`);
  const parts = [...(ranges.length > 0 ? [`records deleted before they were read: ${ranges.join(', ')}`] : [])];
  const places = cut.map(({ topic, partition }) => `${topic}/${partition}`);
  if (cut.length > 0) parts.push(`the newest records were gone, so the whole was read again: ${places.join(', ')}`);
  if (restored > 0) parts.push(`${restored} requests were no longer in tasks and are asked for again`);
  const notice = parts.join('; ');
  logger.warn({ skipped, cut, restored }, `the log no longer holds all that this run needs: ${notice}`);
  return notice;
}

/** Creates version 0 and returns what the ledger records about the learner. A collected run has neither. */
async function firstVersion({ settings, learner, architecture, weights, external }: TrainerDeps) {
  if (external !== undefined) {
    const named = await external.named?.();
    if (named !== undefined)
      return { backend: EXTERNAL, learner: '{}', policy: policyOf({ architecture }, named, { version: 0, parent: -1 }) };
    const checkpoint = await external.initial?.(settings.seed);
    const made = checkpoint && { version: 0, checkpoint, architecture, backend: EXTERNAL };
    return { backend: EXTERNAL, learner: '{}', policy: made && (await policyFields(made, weights)) };
  }
  if (learner === undefined) return { backend: NO_LEARNER, learner: '{}', policy: undefined };
  const checkpoint = await learner.initial(settings.seed);
  await learner.restore(checkpoint);
  const policy = await policyFields({ version: 0, checkpoint, architecture, backend: learner.backend }, weights);
  return { backend: learner.backend, learner: learnerRecord(architecture, learner.parameters), policy };
}

async function beginRun(deps: TrainerDeps, { state, start }: Recovered, committer: Committer): Promise<void> {
  const { settings } = deps;
  await deps.index?.note(deps.runId, start);
  state.ledgerPosition = start.training;
  const { backend, learner, policy } = await firstVersion(deps);
  for (const { partition, end } of await deps.log.bounds('rollouts')) state.rolloutPositions.set(partition, end);
  for (const { partition, end } of await deps.log.bounds('tasks')) state.taskPositions.set(partition, end);
  const started = {
    seed: settings.seed,
    algorithm: settings.algorithm,
    ...{ backend, learner },
    group_size: settings.groupSize,
    batch_groups: settings.batchGroups,
    max_staleness: settings.maxStaleness,
    max_concurrent: settings.maxConcurrent,
    max_attempts: settings.maxAttempts,
    steps: settings.steps,
    stale_policy: settings.stalePolicy,
    weights_sha256: policy?.sha256 ?? '',
    dataset: settings.dataset,
    resume: resumeOf(state),
    settings: settingsRecord(settings, deps.workerSettings),
  };
  await committer.begin(started, policy);
}
