// The ledger entries of a commit, and the requests that go with them.
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { discardsOf, type Discard } from '../../streams/batch/discards.ts';
import type { Resume, RewardsCounted, TrajectoryRequested } from '../../schemas/generated/events.ts';
import { countedOf } from './batches.ts';
import type { CommitDeps, PreparedBatch, TrainedBatch } from './commit-parts.ts';
import { discardFields, groupIdFor, groupRequests, mean, nextRequest, stepMetrics, trainedFields } from '../../streams/trainer/entries.ts';
import type { LedgerWriter } from './ledger-writer.ts';
import { isCollected } from '../../streams/run/fold.ts';
import { FINAL, type Expiry } from '../../streams/trainer/liveness.ts';
import type { TrainingPlan } from '../../streams/trainer/plan.ts';

export function addStep(deps: CommitDeps, ledger: LedgerWriter, step: { readonly trained: TrainedBatch; readonly resume: Resume }): void {
  const { batch, update, weightsSha256, optimizerSha256 } = step.trained;
  const { version } = deps.state;
  ledger.add('StepCompleted', {
    step: version + 1,
    version_before: version,
    version_after: version + 1,
    groups: batch.groups.length,
    ...tokensOf(batch),
    metrics: stepMetrics(batch.trajectories, batch.ages, update.metrics),
    wait_ms: batch.waitMs,
    train_ms: update.trainMs,
    trajectories: keptFields(deps, batch),
    batch_sha256: batch.sha256,
    weights_sha256: weightsSha256,
    optimizer_sha256: optimizerSha256,
    resume: step.resume,
    ...step.trained.told,
  });
  addRest(deps, ledger, { batch, version });
}

/** A batch without a step; `version` is that of the model. */
export function addBatch(
  deps: CommitDeps,
  ledger: LedgerWriter,
  collected: { readonly batch: PreparedBatch; readonly version: number; readonly resume: Resume },
): void {
  const { batch, version, resume } = collected;
  const { trajectories } = batch;
  ledger.add('BatchCollected', {
    batch: deps.state.counters.batches + 1,
    version,
    groups: batch.groups.length,
    ...tokensOf(batch),
    reward_mean: mean(trajectories.map(({ reward }) => reward)),
    wait_ms: batch.waitMs,
    trajectories: keptFields(deps, batch),
    resume,
  });
  addRest(deps, ledger, { batch, version });
}

/** Adds what the groups of a batch have besides the kept attempts: discards and counted rewards. */
function addRest(deps: CommitDeps, ledger: LedgerWriter, kept: { readonly batch: PreparedBatch; readonly version: number }): void {
  const { batch, version } = kept;
  const trained = new Set(batch.trajectories.map(({ trajectoryId }) => trajectoryId));
  const at = { version, nowMs: batch.beganMs };
  for (const group of batch.groups) addDiscards(deps, ledger, { discards: discardsOf(group, { trained, reason: 'expired' }), at });
  addCounted(deps, ledger, batch.counted);
}

/** Adds nothing if no group has attached rewards, so that the ledger of a run without any does not mention them. */
function addCounted({ state }: CommitDeps, ledger: LedgerWriter, groups: RewardsCounted['groups']): void {
  if (groups.length > 0) ledger.add('RewardsCounted', { names: state.rewardNames, groups });
}

const tokensOf = ({ trajectories }: PreparedBatch) => ({
  tokens: trajectories.reduce((sum, { attempt }) => sum + attempt.tokens, 0),
  unknown_tokens: trajectories.reduce((sum, { staleness }) => sum + staleness.unknownTokens, 0),
});

const keptFields = ({ workerNow }: CommitDeps, { trajectories, beganMs }: PreparedBatch) =>
  trajectories.map((trajectory) => trainedFields(trajectory, workerNow(trajectory.attempt.workerId, beganMs)));

function addDiscards(
  deps: CommitDeps,
  ledger: LedgerWriter,
  given: { readonly discards: readonly Discard[]; readonly at: { readonly version: number; readonly nowMs: number } },
): void {
  const { version, nowMs } = given.at;
  for (const discard of given.discards) {
    const at = { version, nowMs: deps.workerNow(discard.attempt?.workerId ?? '', nowMs) };
    ledger.add('TrajectoryDiscarded', discardFields(discard, at));
    deps.metrics.count('trainer_discards_total', { reason: discard.reason });
  }
}

const NONE: ReadonlySet<string> = new Set();

/** Adds discards, expiries and admissions to the ledger; returns the requests that go with them. */
export function addPlan(deps: CommitDeps, ledger: LedgerWriter, plan: TrainingPlan): readonly OutgoingEvent[] {
  const at = { version: plan.terms.version, nowMs: deps.nowMs() };
  for (const { group, reason } of plan.selection.discards) {
    addDiscards(deps, ledger, { discards: discardsOf(group, { trained: NONE, reason }), at });
  }
  const discarded = plan.selection.discards.map(({ group }) => group);
  addCounted(deps, ledger, countedOf(discarded, deps.state.rolloutPositions));
  const again = plan.expiries.flatMap((expiry) => addExpiry(deps, ledger, expiry));
  return [...again, ...addAdmissions(deps, ledger, plan)].map((event) => ({
    type: 'TrajectoryRequested',
    key: event.trajectory_id,
    event,
  }));
}

function addExpiry(deps: CommitDeps, ledger: LedgerWriter, { trajectory, attempt, reason }: Expiry): readonly TrajectoryRequested[] {
  const isLast = FINAL.has(reason) || attempt + 1 >= deps.settings.maxAttempts;
  const next = isLast ? -1 : attempt + 1;
  ledger.add('TrajectoryExpired', {
    group_id: trajectory.request.group_id,
    trajectory_id: trajectory.id,
    attempt,
    reason,
    next_attempt: next,
  });
  deps.metrics.count('trainer_expired_total', { reason });
  return next < 0 ? [] : [nextRequest(trajectory.request, { now: deps.author.now(), producer: deps.author.producer })];
}

function addAdmissions(deps: CommitDeps, ledger: LedgerWriter, { admit, terms }: TrainingPlan): readonly TrajectoryRequested[] {
  if (admit <= 0) return [];
  const { author, settings, questions, state } = deps;
  const { runId, producer } = author;
  const context = { runId, producer, settings, questions, version: terms.version, collected: isCollected(state), now: author.now() };
  const indexes = Array.from({ length: admit }, (_, i) => state.counters.admittedGroups + i);
  const requests = indexes.map((index) => groupRequests(context, index));
  ledger.add('GroupsAdmitted', {
    version: terms.version,
    capacity: admit,
    running: terms.running,
    accepted: terms.accepted,
    max_concurrent: terms.maxConcurrent,
    max_staleness: terms.maxStaleness,
    batch_groups: terms.batchGroups,
    groups: indexes.map((index, i) => ({
      group_id: groupIdFor(runId, index),
      question_id: requests[i]?.[0]?.question_id ?? '',
      samples: settings.groupSize,
    })),
  });
  return requests.flat();
}
