// The loop of a trainer that is up: what is due, one commit at a time.
import type { Plan } from './plan.ts';
import { planNow } from './plan.ts';
import { prepareBatch, trainingBatch } from './batches.ts';
import { policyFields, sha256Of } from './checkpoints.ts';
import type { Committer, PreparedBatch, TrainedBatch } from './committer.ts';
import type { CutWatch } from './cut-log.ts';
import type { Listening } from './listening.ts';
import type { Liveness } from './liveness.ts';
import type { RolloutFeed } from './rollout-feed.ts';
import type { RunSettings } from './settings.ts';
import { placeWorkers } from './task-start.ts';
import type { TrainerDeps, TrainerEnd } from './deps.ts';
import { batchStaleness, namedStaleness } from '../../streams/staleness/batch-staleness.ts';
import { messageOf } from '../../streams/core/errors.ts';
import type { GroupOffsets, TransactionalWriter } from '../../streams/core/ports.ts';
import { noteEnd } from './run-end.ts';
import { packSnapshot, type SnapshotStore } from './snapshot.ts';
import type { Wake } from './wake.ts';
import type { RunState } from '../../streams/run/run-state.ts';

const TICK_MS = 200;
/** Plans without a step are gathered for this long, so that a burst of finished groups costs one transaction. */
const PLAN_INTERVAL_MS = 40;

/** A restart refolds up to as many records, 2 to 3 s on two cores. */
const SNAPSHOT_RECORDS = 500_000;

/** A trainer that has recovered its state and reads rollouts. */
export interface Life extends TrainerDeps {
  readonly state: RunState;
  readonly used: RunSettings;
  readonly committer: Committer;
  readonly writer: TransactionalWriter;
  readonly feed: RolloutFeed;
  readonly liveness: Liveness;
  readonly listening: Listening;
  /** Where topics end. */
  readonly watch: CutWatch;
  readonly wake: Wake;
  /** What the log no longer held when this trainer started; empty when all was there. */
  readonly notice: string;
}

interface Training {
  readonly batch: PreparedBatch;
  result: TrainedBatch | undefined;
}

/** Runs until the steps are done or `signal` aborts. */
export async function live(life: Life, signal: AbortSignal): Promise<TrainerEnd> {
  const { state, used, wake } = life;
  const loop: Loop = {
    ...{ training: undefined, waitedSinceMs: life.clock.monotonic(), lastPlanMs: -Infinity, lookedUpTo: -Infinity },
    ...{ lookDue: false, placed: undefined },
    ...{ snapshotAt: 0, isKeeping: false },
  };
  while (!signal.aborted) {
    if (life.feed.caughtUp) await turn(life, loop);
    if (used.steps > 0 && state.version >= used.steps) return finishRun(life);
    reportState(life);
    if (life.snapshots !== undefined) keepSnapshot(life, life.snapshots, loop);
    await wake.wait(TICK_MS);
  }
  return { kind: 'stopped', version: state.version };
}

/** All that the loop remembers between two turns beside the folded state. */
interface Loop {
  training: Training | undefined;
  waitedSinceMs: number;
  lastPlanMs: number;
  /** Moment of listening of the last look for attempts to give up. */
  lookedUpTo: number;
  /** It is time to look for attempts to give up. */
  lookDue: boolean;
  /** Partitions of tasks in which the workers have been given their start; undefined before the first look. */
  placed: Set<number> | undefined;
  /** Records that had been folded at the newest snapshot. */
  snapshotAt: number;
  isKeeping: boolean;
}

/** No commit is under way here. A snapshot is a cache: when it cannot be kept the run goes on, and a restart takes longer. */
function keepSnapshot(life: Life, snapshots: SnapshotStore, loop: Loop): void {
  if (!life.feed.caughtUp || loop.isKeeping || life.feed.folded - loop.snapshotAt < SNAPSHOT_RECORDS) return;
  loop.snapshotAt = life.feed.folded;
  loop.isKeeping = true;
  snapshots
    .write(packSnapshot(life.state))
    .catch((error: unknown) => {
      life.logger.warn({ error: messageOf(error) }, 'the snapshot of the folded state could not be kept; a restart refolds more');
    })
    .finally(() => {
      loop.isKeeping = false;
    });
}

async function turn(life: Life, loop: Loop): Promise<void> {
  const { state, used } = life;
  const trained = loop.training?.result;
  if (trained !== undefined) await commitStep(life, loop, trained);
  await lookAtClaims(life, loop);
  const plan = planFor(life, loop, state.version);
  const wanted = used.steps === 0 || state.version < used.steps;
  if (loop.training === undefined && wanted && plan.selection.batch.length >= used.batchGroups) beginTraining(life, loop, plan);
  if (!plan.any) loop.lookDue = false;
  else if (life.clock.monotonic() - loop.lastPlanMs >= PLAN_INTERVAL_MS) await carryOut(life, loop);
}

async function commitStep(life: Life, loop: Loop, trained: TrainedBatch): Promise<void> {
  life.reach?.('trainer.step.trained');
  const commitMs = await life.feed.exclusively(() => life.committer.step(trained, planFor(life, loop, life.state.version + 1)));
  loop.training = undefined;
  loop.waitedSinceMs = life.clock.monotonic();
  reportStep(life, trained, commitMs);
}

/** Plans again once nothing is folded any more: the plan that is carried out is one of the state that it changes. */
async function carryOut(life: Life, loop: Loop): Promise<void> {
  loop.lastPlanMs = life.clock.monotonic();
  await life.feed.exclusively(async () => {
    const plan = planFor(life, loop, life.state.version);
    if (plan.any) await life.committer.carryOut(plan);
  });
  loop.lookDue = false;
}

function planFor(life: Life, loop: Loop, version: number): Plan {
  const { state, used } = life;
  const after = state.version + (loop.training === undefined ? 0 : 1);
  return planNow(state, {
    settings: used,
    training: loop.training?.batch.groups ?? [],
    expiries: loop.lookDue && life.listening.mayJudge() ? life.liveness.expired(state, loop.lookedUpTo) : [],
    version,
    admitting: used.steps === 0 || after < used.steps,
  });
}

async function lookAtClaims(life: Life, loop: Loop): Promise<void> {
  life.listening.look();
  const isNew = life.listening.heardUpTo > loop.lookedUpTo;
  if (isNew) loop.lookDue = true;
  loop.lookedUpTo = life.listening.heardUpTo;
  if (loop.placed !== undefined && !(isNew && life.liveness.waiting)) return;
  const committed = await life.offsets.fetch(life.groups.workers, 'tasks');
  loop.placed ??= new Set();
  await placeWorkers(life, committed, loop.placed);
  life.liveness.claimed(await passed(life, committed));
}

/** Tasks before these offsets were claimed, or deleted before anybody claimed them. */
async function passed({ watch }: Life, committed: Awaited<ReturnType<GroupOffsets['fetch']>>): Promise<ReadonlyMap<number, number>> {
  const firsts = new Map((await watch.bounds('tasks')).map(({ partition, first }) => [partition, first]));
  return new Map(committed.map(({ partition, offset }) => [partition, Math.max(offset, firsts.get(partition) ?? 0)]));
}

function beginTraining(life: Life, loop: Loop, plan: Plan): void {
  const times = { nowMs: life.clock.monotonic(), waitedSinceMs: loop.waitedSinceMs };
  const training: Training = { batch: prepareBatch(plan.selection.batch, life.state.version, times), result: undefined };
  loop.training = training;
  train(life, training.batch)
    .then((result) => {
      training.result = result;
      life.wake.now();
    })
    .catch(life.wake.fail);
}

async function train(life: Life, batch: PreparedBatch): Promise<TrainedBatch> {
  const version = life.state.version + 1;
  const update = await life.learner.train(trainingBatch(batch, version));
  life.metrics.observe('trainer_update_seconds', {}, update.trainMs / 1000);
  const made = { version, checkpoint: update, architecture: life.architecture, backend: life.learner.backend };
  const policy = await policyFields(made, life.weights);
  return { batch, update, weightsSha256: policy.sha256, optimizerSha256: sha256Of(update.optimizer), policy };
}

async function finishRun(life: Life): Promise<TrainerEnd> {
  const { version, counters } = life.state;
  const { admittedTrajectories: admitted, trainedTrajectories: trained, closedTrajectories: closed } = counters;
  const totals = { admitted, trained, discarded: closed - trained, open: admitted - closed };
  await life.feed.exclusively(() => life.committer.mark('RunFinished', { steps: version, version, reason: 'steps_reached', ...totals }));
  await life.snapshots?.remove();
  await noteEnd(life, version);
  return { kind: 'finished', version };
}

function reportStep(life: Life, trained: TrainedBatch, commitMs: number): void {
  const { metrics: figures } = trained.update;
  const { trajectories, ages } = trained.batch;
  const staleness = namedStaleness(batchStaleness(trajectories, ages));
  const mean = trajectories.reduce((sum, { reward }) => sum + reward, 0) / Math.max(1, trajectories.length);
  life.metrics.set('trainer_reward_mean', {}, mean);
  for (const [statistic, value] of Object.entries(staleness)) life.metrics.set('trainer_staleness', { statistic }, value);
  life.logger.debug(
    { step: life.state.version, reward_mean: mean, loss: figures.loss, groups: trained.batch.groups.length },
    'step committed',
  );
  life.report({
    state: 'live',
    detail: life.notice,
    figures: {
      step: life.state.version,
      steps: life.used.steps,
      reward_mean: mean,
      staleness_mean: staleness.mean,
      staleness_max: staleness.max,
      staleness_in_flight_mean: staleness.in_flight_mean,
      staleness_in_queue_mean: staleness.in_queue_mean,
      train_ms: trained.update.trainMs,
      wait_ms: trained.batch.waitMs,
      commit_ms: commitMs,
    },
  });
}

function reportState(life: Life): void {
  const { state, feed } = life;
  life.metrics.set('trainer_open_groups', { state: 'running' }, state.groups.size - state.decided.size);
  life.metrics.set('trainer_open_groups', { state: 'ready' }, state.decided.size);
  const figures = { step: state.version, running: state.groups.size - state.decided.size, ready: state.decided.size, lag: feed.lag };
  life.report({ state: feed.caughtUp ? 'live' : 'catching_up', detail: feed.caughtUp ? life.notice : 'refolding rollouts', figures });
}
