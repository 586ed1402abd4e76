// Builds the trainer's events from the folded state.
import type { EventByType, StepMetrics, TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { UpdateMetrics } from '../core/learning.ts';
import { trajectoryId } from '../core/ids.ts';
import { deriveSeed } from '../core/random.ts';
import { batchStaleness, namedStaleness } from '../staleness/batch-staleness.ts';
import { stalenessOf, type Staleness, type TokenAges } from '../staleness/staleness.ts';
import { rewardOf, spansOf, type Attempt } from '../trajectory/attempt.ts';
import type { AccountedTrajectory } from '../batch/batch.ts';
import type { Discard } from '../batch/discards.ts';
import type { RunSettings } from './run-settings.ts';
import type { AskedQuestion, TrainingQuestions } from './training-questions.ts';
import type { Unchained } from '../ledger/chain.ts';

const stalenessFields = (staleness: Staleness) => ({
  version_first: staleness.versionFirst,
  version_last: staleness.versionLast,
  staleness_total: staleness.total,
  staleness_in_flight: staleness.inFlight,
  staleness_in_queue: staleness.inQueue,
  staleness_worst: staleness.worst,
  staleness_best: staleness.best,
  staleness_span: staleness.span,
  staleness_token_mean: staleness.tokenMean,
  staleness_token_p95: staleness.tokenP95,
  staleness_token_max: staleness.tokenMax,
  unknown_tokens: staleness.unknownTokens,
});

/** From start to finish and from finish to `nowMs`, both by the worker's clock; never negative, 0 if unknown. */
function durations(attempt: Attempt | undefined, nowMs: number): { readonly flight_ms: number; readonly queue_ms: number } {
  const ending = attempt?.ending;
  if (ending === undefined) return { flight_ms: 0, queue_ms: 0 };
  const ms = (micros: number): number => Math.max(0, Math.round(micros / 1000));
  return { flight_ms: ms(ending.finishedAt - ending.startedAt), queue_ms: ms(nowMs * 1000 - ending.finishedAt) };
}

const turnsOf = (attempt: Attempt | undefined): number => attempt?.ending?.turns ?? Math.max(0, (attempt?.contiguous ?? 1) - 1);

export function trainedFields(trajectory: AccountedTrajectory, nowMs: number): EventByType['StepCompleted']['trajectories'][number] {
  const { attempt } = trajectory;
  return {
    group_id: trajectory.groupId,
    trajectory_id: trajectory.trajectoryId,
    attempt: attempt.number,
    question_id: trajectory.questionId,
    reward: trajectory.reward,
    advantage: trajectory.advantage,
    tokens: attempt.tokens,
    turns: turnsOf(attempt),
    ...stalenessFields(trajectory.staleness),
    ...durations(attempt, nowMs),
  };
}

/** The ledger fields of a discard, with the staleness, at version t-1 = `version`, of the part of the attempt that has been seen. */
export function discardFields(
  { trajectory, number, attempt, reason }: Discard,
  at: { readonly version: number; readonly nowMs: number },
): Unchained<'TrajectoryDiscarded'> {
  const reward = attempt === undefined ? 0 : rewardOf(attempt);
  return {
    group_id: trajectory.request.group_id,
    trajectory_id: trajectory.id,
    attempt: number,
    question_id: trajectory.request.question_id,
    reward: Number.isFinite(reward) ? reward : 0,
    tokens: attempt?.tokens ?? 0,
    turns: turnsOf(attempt),
    ...stalenessFields(stalenessOf(attempt === undefined ? [] : spansOf(attempt), at.version)),
    ...durations(attempt, at.nowMs),
    reason,
    version: at.version,
  };
}

/** Finite for any finite values: if their sum overflows, each is divided first. */
export function mean(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sum = values.reduce((total, value) => total + value, 0);
  return Number.isFinite(sum) ? sum / values.length : values.reduce((total, value) => total + value / values.length, 0);
}

/** Metrics of a step: of its batch, its token ages and its update. */
export function stepMetrics(batch: readonly AccountedTrajectory[], ages: TokenAges, update: UpdateMetrics): StepMetrics {
  const of = (read: (trajectory: AccountedTrajectory) => number): number => mean(batch.map(read));
  const staleness = namedStaleness(batchStaleness(batch, ages));
  return {
    reward_mean: of(({ reward }) => reward),
    f1_mean: of(({ ending }) => ending.f1),
    em_mean: of(({ ending }) => ending.em),
    format_mean: of(({ ending }) => (ending.formatOk ? 1 : 0)),
    turns_mean: of(({ attempt }) => turnsOf(attempt)),
    tool_calls_mean: of(({ ending }) => ending.toolCalls),
    ...update,
    staleness_mean: staleness.mean,
    staleness_p95: staleness.p95,
    staleness_max: staleness.max,
    staleness_in_flight_mean: staleness.in_flight_mean,
    staleness_in_queue_mean: staleness.in_queue_mean,
    staleness_token_mean: staleness.token_mean,
    staleness_token_p95: staleness.token_p95,
    staleness_token_max: staleness.token_max,
  };
}

export const groupIdFor = (runId: string, index: number): string => `${runId}-g${String(index).padStart(6, '0')}`;

interface RequestContext {
  readonly runId: string;
  readonly producer: string;
  readonly settings: RunSettings;
  readonly questions: TrainingQuestions;
  readonly version: number;
  /** True if the trainer does not make the policy: a request cannot wait for a version that the model may never have. */
  readonly collected: boolean;
  /** Microseconds. */
  readonly now: number;
}

export const requestEventId = (id: string, attempt: number): string => `${id}/${attempt}/request`;

/** The requests of a newly admitted group. */
export function groupRequests(
  context: RequestContext,
  index: number,
  question: AskedQuestion = context.questions.at(index),
): readonly TrajectoryRequested[] {
  const { runId, settings } = context;
  const groupId = groupIdFor(runId, index);
  return Array.from({ length: settings.groupSize }, (_, sample) => ({
    event_id: requestEventId(trajectoryId(groupId, sample), 0),
    run_id: runId,
    occurred_at: context.now,
    producer: context.producer,
    group_id: groupId,
    trajectory_id: trajectoryId(groupId, sample),
    attempt: 0,
    sample,
    group_index: index,
    group_size: settings.groupSize,
    purpose: 'train',
    ...question,
    reward: settings.reward,
    decoding: 'sample',
    seed: deriveSeed(`${settings.seed}/${index}`, sample),
    // on-policy: a worker that does not know the version yet must not use the previous one
    policy_version: settings.maxStaleness === 0 && !context.collected ? context.version : -1,
    max_turns: settings.maxTurns,
    max_tokens: settings.maxTokens,
    max_wall_ms: settings.maxWallMs,
    admitted_version: context.version,
    evaluation_id: '',
    addressee: '',
  }));
}

/** Requests the next attempt of the same trajectory. */
export function nextRequest(last: TrajectoryRequested, at: { readonly now: number; readonly producer: string }): TrajectoryRequested {
  const attempt = last.attempt + 1;
  return { ...last, attempt, event_id: requestEventId(last.trajectory_id, attempt), occurred_at: at.now, producer: at.producer };
}
