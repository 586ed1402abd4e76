// The main loop of a trainer: does what is due, one commit at a time.
import type { TrainingPlan } from '../../streams/trainer/plan.ts';
import { madeBy, planFor } from './plan-for.ts';
import { prepareBatch, trainingBatch } from './batches.ts';
import { policyFields, sha256Of } from './checkpoints.ts';
import { TOLD_NOTHING, type PreparedBatch, type TrainedBatch } from './commit-parts.ts';
import { placeWorkers } from './task-start.ts';
import { collects, type TrainerEnd, isExternal, type TrainerLife, type Loop, type BatchInTraining } from './deps.ts';
import { createMeasuring } from './external/measuring.ts';
import { linger, serveTrainer } from './external/serve.ts';
import type { Learner } from '../../streams/core/learning.ts';
import { messageOf } from '../../streams/core/errors.ts';
import type { GroupOffsets } from '../../streams/core/ports.ts';
import { endOf, finishRun, type RunEnd } from './finish.ts';
import { packSnapshot, type SnapshotStore } from './snapshot.ts';
import { progressOf, reportBatch } from './report-batch.ts';
import { tellWaste } from './tell-waste.ts';

const TICK_MS = 200;
/** Minimum time between two plans without a step, so that a burst of finished groups costs one transaction. */
const PLAN_INTERVAL_MS = 40;

/** A snapshot is due after this many records; a restart folds them again in less than a second on two cores. */
const SNAPSHOT_RECORDS = 100_000;
/** If snapshots would take more than this share of the time, the next one waits for more records. */
const SNAPSHOT_SHARE = 0.02;
/** A snapshot is due after this many records, however long it takes. */
const SNAPSHOT_MOST_RECORDS = 500_000;

/** Runs until the steps are done or `signal` aborts. */
export async function live(life: TrainerLife, signal: AbortSignal): Promise<TrainerEnd> {
  const { wake } = life;
  const loop: Loop = {
    ...{ training: undefined, waitedSinceMs: life.clock.monotonic(), lastPlanMs: -Infinity, lookedUpTo: -Infinity },
    ...{ lookDue: false, placed: undefined },
    leaseTimes: new Map(),
    aheadOf: undefined,
    measuring: life.external === undefined ? undefined : createMeasuring(life.external.rows, wake.now),
    ...{ snapshot: undefined, isKeeping: false, toldWaste: false, warning: '', ending: false, heardEnd: false },
  };
  life.external?.desk.open(wake.now);
  try {
    return await loopUntil(life, loop, signal);
  } finally {
    life.external?.desk.close();
    loop.measuring?.close();
  }
}

async function loopUntil(life: TrainerLife, loop: Loop, signal: AbortSignal): Promise<TrainerEnd> {
  const { state, wake } = life;
  while (!signal.aborted) {
    if (life.feed.caughtUp) await turn(life, loop);
    const end = loop.training === undefined ? endOf(life) : undefined;
    if (end !== undefined) {
      const ended = await finish(life, loop, end);
      if (isExternal(life)) await linger(life, loop, signal);
      return ended;
    }
    tellWaste(life, loop);
    reportState(life, loop);
    if (life.snapshots !== undefined) keepSnapshot(life, life.snapshots, loop);
    await wake.wait(TICK_MS);
  }
  return { kind: 'stopped', version: state.version };
}

/** Called between commits. A snapshot is a cache: if it cannot be written, the run continues and a restart takes longer. */
function keepSnapshot(life: TrainerLife, snapshots: SnapshotStore, loop: Loop): void {
  const nowMs = life.clock.monotonic();
  if (!life.feed.caughtUp || loop.isKeeping || !isSnapshotDue(loop, life.feed.folded, nowMs)) return;
  const bytes = packSnapshot({ state: life.state, start: life.start });
  loop.snapshot = { folded: life.feed.folded, atMs: nowMs, tookMs: life.clock.monotonic() - nowMs };
  loop.isKeeping = true;
  snapshots
    .write(bytes)
    .catch((error: unknown) => {
      life.logger.warn(
        { error: messageOf(error) },
        'the snapshot of the folded state could not be saved; a restart folds more records again',
      );
    })
    .finally(() => {
      loop.isKeeping = false;
    });
}

/** The first is due at once: the next restart then does not read what this one has read. */
function isSnapshotDue({ snapshot }: Loop, folded: number, nowMs: number): boolean {
  if (snapshot === undefined) return true;
  const records = folded - snapshot.folded;
  const isCheap = (nowMs - snapshot.atMs) * SNAPSHOT_SHARE >= snapshot.tookMs;
  return records >= (isCheap ? SNAPSHOT_RECORDS : SNAPSHOT_MOST_RECORDS);
}

async function turn(life: TrainerLife, loop: Loop): Promise<void> {
  const { state, learner } = life;
  const trained = loop.training?.result;
  if (trained !== undefined) await commitStep(life, loop, trained);
  if (isExternal(life)) await serveTrainer(life, loop);
  await lookAtClaims(life, loop);
  const plan = planFor(life, loop, state.version);
  if (!isExternal(life) && loop.training === undefined && isFull(life, plan)) {
    if (learner === undefined) return collect(life, loop);
    beginTraining(life, loop, { plan, learner });
  }
  if (!plan.any) loop.lookDue = false;
  else if (life.clock.monotonic() - loop.lastPlanMs >= PLAN_INTERVAL_MS) await carryOut(life, loop);
}

const isFull = (life: TrainerLife, { selection }: TrainingPlan): boolean =>
  (life.used.steps === 0 || madeBy(life) < life.used.steps) && selection.batch.length >= life.used.batchGroups;

/** Records the ready groups as a batch for later training. */
async function collect(life: TrainerLife, loop: Loop): Promise<void> {
  const times = { nowMs: life.clock.monotonic(), waitedSinceMs: loop.waitedSinceMs, positions: life.state.rolloutPositions };
  await life.feed.exclusively(async () => {
    const plan = planFor(life, loop, life.state.version);
    if (plan.selection.batch.length === 0) return;
    const batch = prepareBatch(plan.selection.batch, plan.terms.version, times);
    const commitMs = await life.committer.collect(batch, plan);
    reportBatch(life, batch, { trainMs: 0, commitMs });
  });
  loop.waitedSinceMs = life.clock.monotonic();
  loop.lookDue = false;
}

/** Ends the run. A run that makes no steps first collects its ready groups, unless it has all of its batches. */
async function finish(life: TrainerLife, loop: Loop, end: RunEnd): Promise<TrainerEnd> {
  loop.ending = true;
  if (collects(life) && end.reason !== 'collected') await collect(life, loop);
  return finishRun(life, end);
}

async function commitStep(life: TrainerLife, loop: Loop, trained: TrainedBatch): Promise<void> {
  life.reach?.('trainer.step.trained');
  const commitMs = await life.feed.exclusively(() => life.committer.step(trained, planFor(life, loop, life.state.version + 1)));
  loop.training = undefined;
  loop.waitedSinceMs = life.clock.monotonic();
  life.logger.debug({ step: life.state.version, loss: trained.update.metrics.loss, groups: trained.batch.groups.length }, 'step committed');
  reportBatch(life, trained.batch, { trainMs: trained.update.trainMs, commitMs });
}

/** Plans again after the fold has paused, so that the plan is based on the state that it changes. */
async function carryOut(life: TrainerLife, loop: Loop): Promise<void> {
  loop.lastPlanMs = life.clock.monotonic();
  await life.feed.exclusively(async () => {
    const plan = planFor(life, loop, life.state.version);
    if (plan.any) await life.committer.carryOut(plan);
  });
  loop.lookDue = false;
}

async function lookAtClaims(life: TrainerLife, loop: Loop): Promise<void> {
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

/** Tasks before these offsets were claimed, or were deleted unclaimed. */
async function passed({ watch }: TrainerLife, committed: Awaited<ReturnType<GroupOffsets['fetch']>>): Promise<ReadonlyMap<number, number>> {
  const firsts = new Map((await watch.bounds('tasks')).map(({ partition, first }) => [partition, first]));
  return new Map(committed.map(({ partition, offset }) => [partition, Math.max(offset, firsts.get(partition) ?? 0)]));
}

function beginTraining(life: TrainerLife, loop: Loop, { plan, learner }: { readonly plan: TrainingPlan; readonly learner: Learner }): void {
  const times = { nowMs: life.clock.monotonic(), waitedSinceMs: loop.waitedSinceMs, positions: life.state.rolloutPositions };
  const training: BatchInTraining = { batch: prepareBatch(plan.selection.batch, life.state.version, times), result: undefined };
  loop.training = training;
  train(life, training.batch, learner)
    .then((result) => {
      training.result = result;
      life.wake.now();
    })
    .catch(life.wake.fail);
}

async function train(life: TrainerLife, batch: PreparedBatch, learner: Learner): Promise<TrainedBatch> {
  const version = life.state.version + 1;
  const update = await learner.train(trainingBatch(batch, version));
  life.metrics.observe('trainer_update_seconds', {}, update.trainMs / 1000);
  const made = { version, checkpoint: update, architecture: life.architecture, backend: learner.backend };
  const policy = await policyFields(made, life.weights);
  const { metrics, trainMs } = update;
  const hashes = { weightsSha256: policy.sha256, optimizerSha256: sha256Of(update.optimizer) };
  return { batch, update: { metrics, trainMs }, ...hashes, policy, told: TOLD_NOTHING };
}

function reportState(life: TrainerLife, loop: Loop): void {
  const { state, feed } = life;
  life.metrics.set('trainer_open_groups', { state: 'running' }, state.groups.size - state.decided.size);
  life.metrics.set('trainer_open_groups', { state: 'ready' }, state.decided.size);
  const figures = { ...progressOf(life), running: state.groups.size - state.decided.size, ready: state.decided.size, lag: feed.lag };
  const said = [loop.warning, life.notice].filter((text) => text !== '').join('; ');
  life.report({ state: feed.caughtUp ? 'live' : 'catching_up', detail: feed.caughtUp ? said : 'refolding rollouts', figures });
}
