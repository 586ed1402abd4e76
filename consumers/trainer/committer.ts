// Turns decisions into one transaction each and folds them back into the state, exactly as a restart would. When a
// commit fails nobody knows whether it happened: the error ends this trainer, and the next one reads the log.
import { inStep, reachNothing, type ReachPoint } from '../../streams/core/crash-points.ts';
import type { Appended, OutgoingEvent, Position, RunStart, TransactionalWriter } from '../../streams/core/ports.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import type { AccountedTrajectory } from '../../streams/batch/batch.ts';
import { discardsOf, type Discard } from '../../streams/batch/discards.ts';
import type { Checkpoint, UpdateMetrics } from '../../streams/core/learning.ts';
import type { Group } from '../../streams/group/group.ts';
import type { TokenAges } from '../../streams/staleness/staleness.ts';
import { foldLedger, foldTask } from '../../streams/run/fold.ts';
import { forgetSettled, resumeOf } from '../../streams/run/resume.ts';
import type { Mark, RunState } from '../../streams/run/run-state.ts';
import type { PolicyPublished, Resume, TrajectoryRequested } from '../../schemas/generated/events.ts';
import { discardFields, groupIdFor, groupRequests, nextRequest, stepMetrics, trainedFields } from './entries.ts';
import { createLedgerWriter, type Author, type LedgerWriter, type Unchained } from './ledger-writer.ts';
import { FINAL, type Expiry } from './liveness.ts';
import { textOfMark } from './cut-log.ts';
import { claimAt } from './ownership.ts';
import type { Plan } from './plan.ts';
import type { TrainingQuestions } from './questions.ts';
import type { RunSettings } from './settings.ts';
import type { WorkerClocks } from './worker-clocks.ts';

export interface CommitDeps {
  readonly author: Author;
  readonly state: RunState;
  readonly settings: RunSettings;
  readonly questions: TrainingQuestions;
  readonly writer: TransactionalWriter;
  /** Group that the input offsets are committed to. */
  readonly offsetsGroup: string;
  /** Where the run begins in what it writes: committed too, so that the next start knows. */
  readonly start: RunStart;
  readonly metrics: Metrics;
  /** Beside the offset of the policies: who commits. */
  readonly claim: string;
  /** For durations: monotonic. */
  readonly nowMs: () => number;
  /** What the clock of a worker said at such a moment. */
  readonly workerNow: WorkerClocks['read'];
  readonly reach?: ReachPoint;
}

/** A batch on its way through the learner. */
export interface PreparedBatch {
  readonly groups: readonly Group[];
  readonly trajectories: readonly AccountedTrajectory[];
  readonly ages: TokenAges;
  readonly sha256: string;
  /** When training began, monotonic ms. */
  readonly beganMs: number;
  readonly waitMs: number;
}

export interface TrainedBatch {
  readonly batch: PreparedBatch;
  readonly update: Checkpoint & { readonly metrics: UpdateMetrics; readonly trainMs: number };
  readonly weightsSha256: string;
  readonly optimizerSha256: string;
  readonly policy: Omit<PolicyPublished, 'event_id' | 'run_id' | 'occurred_at' | 'producer'>;
}

export interface Committer {
  begin(started: Unchained<'RunStarted'>, policy: TrainedBatch['policy']): Promise<void>;
  /** Carries out a plan without a step. */
  carryOut(plan: Plan): Promise<void>;
  /** Answers how long its transaction took, ms. */
  step(trained: TrainedBatch, plan: Plan): Promise<number>;
  /** The run is over, or is trained further after it was. */
  mark<T extends 'RunFinished' | 'RunContinued'>(type: T, fields: Unchained<T>): Promise<void>;
}

export function createCommitter(deps: CommitDeps): Committer {
  const { author, state, metrics } = deps;

  async function commit(ledger: LedgerWriter, others: readonly OutgoingEvent[], resume?: Resume): Promise<number> {
    const entries = ledger.events();
    const from = deps.nowMs();
    const appended = await deps.writer.commit({
      events: [...entries, ...others],
      ...(resume === undefined ? {} : { offsets: { group: deps.offsetsGroup, positions: positionsOf(resume, deps) } }),
    });
    const tookMs = deps.nowMs() - from;
    metrics.observe('trainer_transaction_seconds', {}, tookMs / 1000);
    await inStep(deps.reach ?? reachNothing, 'trainer.fold-back', async () => {
      foldBack(ledger, others, appended);
    });
    if (resume !== undefined) forgetSettled(state, resume);
    return tookMs;
  }

  function foldBack(ledger: LedgerWriter, others: readonly OutgoingEvent[], appended: readonly Appended[]): void {
    ledger.written.forEach(({ entry, body }, i) => {
      foldLedger(state, entry, { body, offset: appended[i]?.offset ?? state.ledgerPosition });
    });
    others.forEach((event, i) => {
      const place = appended[ledger.written.length + i];
      if (event.type === 'TrajectoryRequested' && place !== undefined) foldTask(state, event.event, place);
    });
  }

  return {
    async begin(started, policy) {
      const ledger = createLedgerWriter(author, state.chain);
      ledger.add('RunStarted', started);
      await commit(ledger, [publishedBy(author, policy)], started.resume);
    },
    async carryOut(plan) {
      const ledger = createLedgerWriter(author, state.chain);
      await commit(ledger, addPlan(deps, ledger, plan));
    },
    async step(trained, plan) {
      const ledger = createLedgerWriter(author, state.chain);
      const resume = resumeOf(state, new Set(trained.batch.groups.map((group) => group.id)));
      addStep(deps, ledger, { trained, resume });
      const requests = addPlan(deps, ledger, plan);
      const tookMs = await commit(ledger, [publishedBy(author, trained.policy), ...requests], resume);
      metrics.count('trainer_steps_total', {});
      return tookMs;
    },
    async mark(type, fields) {
      const ledger = createLedgerWriter(author, state.chain);
      ledger.add(type, fields);
      await commit(ledger, []);
    },
  };
}

const publishedBy = (author: Author, policy: TrainedBatch['policy']): OutgoingEvent => ({
  type: 'PolicyPublished',
  key: author.runId,
  event: {
    event_id: `${author.runId}/policy/${policy.version}`,
    run_id: author.runId,
    occurred_at: author.now(),
    producer: author.producer,
    ...policy,
  },
});

function positionsOf(
  resume: Resume,
  { start, claim, state }: Pick<CommitDeps, 'start' | 'claim' | 'state'>,
): readonly (Position & { readonly metadata?: string })[] {
  return [
    ...resume.rollouts.map((position) => ({
      topic: 'rollouts' as const,
      ...position,
      ...metadataOf(state.rolloutMarks.get(position.partition)),
    })),
    ...resume.tasks.map((position) => ({ topic: 'tasks' as const, ...position })),
    { topic: 'training', partition: 0, offset: start.training },
    claimAt(start.policies, claim),
  ];
}

/** What the next start recognizes the log by, if it was cut meanwhile. */
const metadataOf = (mark: Mark | undefined): { readonly metadata?: string } => (mark === undefined ? {} : { metadata: textOfMark(mark) });

function addStep(deps: CommitDeps, ledger: LedgerWriter, step: { readonly trained: TrainedBatch; readonly resume: Resume }): void {
  const { batch, update, weightsSha256, optimizerSha256 } = step.trained;
  const { version } = deps.state;
  const tokens = batch.trajectories.reduce((sum, { attempt }) => sum + attempt.tokens, 0);
  const unknown = batch.trajectories.reduce((sum, { staleness }) => sum + staleness.unknownTokens, 0);
  ledger.add('StepCompleted', {
    step: version + 1,
    version_before: version,
    version_after: version + 1,
    groups: batch.groups.length,
    tokens,
    unknown_tokens: unknown,
    metrics: stepMetrics(batch.trajectories, batch.ages, update.metrics),
    wait_ms: batch.waitMs,
    train_ms: update.trainMs,
    trajectories: batch.trajectories.map((trajectory) =>
      trainedFields(trajectory, deps.workerNow(trajectory.attempt.workerId, batch.beganMs)),
    ),
    batch_sha256: batch.sha256,
    weights_sha256: weightsSha256,
    optimizer_sha256: optimizerSha256,
    resume: step.resume,
  });
  const trained = new Set(batch.trajectories.map(({ trajectoryId }) => trajectoryId));
  const at = { version, nowMs: batch.beganMs };
  for (const group of batch.groups) addDiscards(deps, ledger, { discards: discardsOf(group, { trained, reason: 'expired' }), at });
}

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

/** Adds discards, expiries and admissions to the ledger; answers the requests that go with them. */
function addPlan(deps: CommitDeps, ledger: LedgerWriter, plan: Plan): readonly OutgoingEvent[] {
  const at = { version: plan.terms.version, nowMs: deps.nowMs() };
  for (const { group, reason } of plan.selection.discards) {
    addDiscards(deps, ledger, { discards: discardsOf(group, { trained: NONE, reason }), at });
  }
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

function addAdmissions(deps: CommitDeps, ledger: LedgerWriter, { admit, terms }: Plan): readonly TrajectoryRequested[] {
  if (admit <= 0) return [];
  const { author, settings, questions, state } = deps;
  const context = { runId: author.runId, producer: author.producer, settings, questions, version: terms.version, now: author.now() };
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
      group_id: groupIdFor(author.runId, index),
      question_id: requests[i]?.[0]?.question_id ?? '',
      samples: settings.groupSize,
    })),
  });
  return requests.flat();
}
