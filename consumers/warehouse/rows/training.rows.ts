// training -> run_events, admissions, steps, step_trajectories, batches, collected_trajectories, discarded_trajectories, expired_attempts,
// trainer_claims, leases, lease_releases, rewinds, named_weights, counted_rewards
import type {
  BatchCollected,
  BatchLeased,
  BatchReleased,
  GroupsAdmitted,
  RewardsCounted,
  RunContinued,
  RunFinished,
  RunRewound,
  RunStarted,
  StepCompleted,
  TrainedTrajectory,
  TrainerClaimed,
  TrajectoryDiscarded,
  TrajectoryExpired,
  WeightsNamed,
} from '../../../schemas/generated/events.ts';
import type { Cell, Row } from '../../../streams/core/ports.ts';
import { metricsOf } from '../../../streams/ledger/step-metrics.ts';
import { float, type Origin } from './cells.ts';
import { both, row, rows, type ProjectionsOf } from './projection.ts';

interface LedgerFields {
  readonly event_id: string;
  readonly run_id: string;
  readonly occurred_at: number;
  readonly producer: string;
  readonly sequence: number;
  readonly previous_sha256: string;
}

const entry = (event: LedgerFields, origin: Origin): Row => ({
  run_id: event.run_id,
  sequence: event.sequence,
  previous_sha256: event.previous_sha256,
  event_id: event.event_id,
  at: event.occurred_at,
  producer: event.producer,
  ...origin,
});

const runStartedRow = (event: RunStarted, origin: Origin): Row => ({
  ...entry(event, origin),
  event: 'started',
  seed: event.seed,
  algorithm: event.algorithm,
  backend: event.backend,
  learner: event.learner,
  group_size: event.group_size,
  batch_groups: event.batch_groups,
  max_staleness: event.max_staleness,
  max_concurrent: event.max_concurrent,
  max_attempts: event.max_attempts,
  steps: event.steps,
  stale_policy: event.stale_policy,
  weights_sha256: event.weights_sha256,
  dataset: event.dataset,
  version: 0,
  reason: '',
  trained: 0,
  discarded: 0,
  resume: JSON.stringify(event.resume),
  settings: event.settings,
  admitted: -1,
  open: -1,
  collected: 0,
  batches: 0,
  detail: '',
});

/** The columns that an entry does not set, in the order of `runStartedRow`. */
const blank: Row = {
  event: '',
  seed: 0,
  algorithm: '',
  backend: '',
  learner: '',
  group_size: 0,
  batch_groups: 0,
  max_staleness: 0,
  max_concurrent: 0,
  max_attempts: 0,
  steps: 0,
  stale_policy: '',
  weights_sha256: '',
  dataset: '',
  version: 0,
  reason: '',
  trained: 0,
  discarded: 0,
  resume: '',
  settings: '',
  admitted: -1,
  open: -1,
  collected: 0,
  batches: 0,
  detail: '',
};

const runFinishedRow = (event: RunFinished, origin: Origin): Row => ({
  ...entry(event, origin),
  ...blank,
  event: 'finished',
  steps: event.steps,
  version: event.version,
  reason: event.reason,
  trained: event.trained,
  discarded: event.discarded,
  admitted: event.admitted,
  open: event.open,
  collected: event.collected,
  batches: event.batches,
  detail: event.detail,
});

const runContinuedRow = (event: RunContinued, origin: Origin): Row => ({
  ...entry(event, origin),
  ...blank,
  event: 'continued',
  steps: event.steps,
  version: event.version,
});

const admissionRow = (event: GroupsAdmitted, origin: Origin): Row => ({
  ...entry(event, origin),
  version: event.version,
  capacity: event.capacity,
  running: event.running,
  accepted: event.accepted,
  max_concurrent: event.max_concurrent,
  max_staleness: event.max_staleness,
  batch_groups: event.batch_groups,
  groups: event.groups.length,
  group_ids: event.groups.map((group) => group.group_id),
  question_ids: event.groups.map((group) => group.question_id),
  samples: event.groups.map((group) => group.samples),
});

const stepRow = (event: StepCompleted, origin: Origin): Row => ({
  ...entry(event, origin),
  step: event.step,
  version_before: event.version_before,
  version_after: event.version_after,
  groups: event.groups,
  trajectories: event.trajectories.length,
  tokens: event.tokens,
  ...metricCells(metricsOf(event)),
  unknown_tokens: event.unknown_tokens,
  wait_ms: float(event.wait_ms),
  train_ms: float(event.train_ms),
  batch_sha256: event.batch_sha256,
  weights_sha256: event.weights_sha256,
  optimizer_sha256: event.optimizer_sha256,
  resume: JSON.stringify(event.resume),
  batch_id: event.batch_id,
  trained_rows: event.trained_rows,
  skipped: JSON.stringify(event.skipped),
  lineage: event.lineage,
  report: event.report,
  report_sha256: event.report_sha256,
});

/** Every metric of a step has the name of its column. */
const metricCells = (metrics: StepCompleted['metrics']): Record<string, Cell> =>
  Object.fromEntries(Object.entries(metrics).map(([name, value]: [string, number]) => [name, float(value)]));

const accountCells = (trajectory: Omit<TrainedTrajectory, 'advantage'>): Row => ({
  group_id: trajectory.group_id,
  trajectory_id: trajectory.trajectory_id,
  attempt: trajectory.attempt,
  question_id: trajectory.question_id,
  reward: float(trajectory.reward),
  tokens: trajectory.tokens,
  turns: trajectory.turns,
  version_first: trajectory.version_first,
  version_last: trajectory.version_last,
  staleness_total: trajectory.staleness_total,
  staleness_in_flight: trajectory.staleness_in_flight,
  staleness_in_queue: trajectory.staleness_in_queue,
  staleness_worst: trajectory.staleness_worst,
  staleness_best: trajectory.staleness_best,
  staleness_span: trajectory.staleness_span,
  staleness_token_mean: float(trajectory.staleness_token_mean),
  staleness_token_p95: trajectory.staleness_token_p95,
  staleness_token_max: trajectory.staleness_token_max,
  unknown_tokens: trajectory.unknown_tokens,
  flight_ms: trajectory.flight_ms,
  queue_ms: trajectory.queue_ms,
});

function stepTrajectoryRows(event: StepCompleted, origin: Origin): readonly Row[] {
  const shared = {
    ...entry(event, origin),
    step: event.step,
    version_before: event.version_before,
    version_after: event.version_after,
  };
  return event.trajectories.map((trajectory) => ({
    ...shared,
    ...accountCells(trajectory),
    advantage: float(trajectory.advantage),
  }));
}

const batchRow = (event: BatchCollected, origin: Origin): Row => ({
  ...entry(event, origin),
  batch: event.batch,
  version: event.version,
  groups: event.groups,
  trajectories: event.trajectories.length,
  tokens: event.tokens,
  unknown_tokens: event.unknown_tokens,
  reward_mean: float(event.reward_mean),
  wait_ms: float(event.wait_ms),
  resume: JSON.stringify(event.resume),
});

function collectedRows(event: BatchCollected, origin: Origin): readonly Row[] {
  const shared = { ...entry(event, origin), batch: event.batch, version: event.version };
  return event.trajectories.map((trajectory) => ({ ...shared, ...accountCells(trajectory), advantage: float(trajectory.advantage) }));
}

const discardedRow = (event: TrajectoryDiscarded, origin: Origin): Row => ({
  ...entry(event, origin),
  ...accountCells(event),
  reason: event.reason,
  version: event.version,
});

const expiredRow = (event: TrajectoryExpired, origin: Origin): Row => ({
  ...entry(event, origin),
  group_id: event.group_id,
  trajectory_id: event.trajectory_id,
  attempt: event.attempt,
  reason: event.reason,
  next_attempt: event.next_attempt,
});

const claimRow = (event: TrainerClaimed, origin: Origin): Row => ({
  ...entry(event, origin),
  trainer_id: event.trainer_id,
  epoch: event.epoch,
  framework: event.framework,
  lineage: event.lineage,
  prepared: event.prepared,
});

const leaseRow = (event: BatchLeased, origin: Origin): Row => ({
  ...entry(event, origin),
  batch_id: event.batch_id,
  step: event.step,
  epoch: event.epoch,
  version_before: event.version_before,
  group_ids: event.group_ids,
  trajectory_ids: event.trajectories.map(({ trajectory_id: id }) => id),
  attempts: event.trajectories.map(({ attempt }) => attempt),
  leased_rows: event.rows,
  tokens: event.tokens,
  bytes: event.bytes,
  untrainable: event.untrainable,
  batch_sha256: event.batch_sha256,
  deadline: event.deadline,
});

const releaseRow = (event: BatchReleased, origin: Origin): Row => ({
  ...entry(event, origin),
  batch_id: event.batch_id,
  step: event.step,
  epoch: event.epoch,
  reason: event.reason,
});

const rewindRow = (event: RunRewound, origin: Origin): Row => ({
  ...entry(event, origin),
  version: event.version,
  to_version: event.to_version,
  abandoned: event.abandoned,
  trajectories: event.trajectories,
  weights_sha256: event.weights_sha256,
  epoch: event.epoch,
  reason: event.reason,
});

const weightsRow = (event: WeightsNamed, origin: Origin): Row => ({
  ...entry(event, origin),
  version: event.version,
  sha256: event.sha256,
  uri: event.uri,
  format: event.format,
});

const countedRow = (event: RewardsCounted, origin: Origin): Row => ({
  ...entry(event, origin),
  reward_names: event.names,
  group_ids: event.groups.map(({ group_id: id }) => id),
  rollout_partitions: event.groups.map(({ partition }) => partition),
  rollout_ends: event.groups.map(({ end }) => end),
});

export const trainingProjections = {
  RunStarted: row('run_events', runStartedRow),
  RunContinued: row('run_events', runContinuedRow),
  RunFinished: row('run_events', runFinishedRow),
  GroupsAdmitted: row('admissions', admissionRow),
  StepCompleted: both(row('steps', stepRow), rows('step_trajectories', stepTrajectoryRows)),
  BatchCollected: both(row('batches', batchRow), rows('collected_trajectories', collectedRows)),
  TrajectoryDiscarded: row('discarded_trajectories', discardedRow),
  TrajectoryExpired: row('expired_attempts', expiredRow),
  TrainerClaimed: row('trainer_claims', claimRow),
  BatchLeased: row('leases', leaseRow),
  BatchReleased: row('lease_releases', releaseRow),
  RunRewound: row('rewinds', rewindRow),
  WeightsNamed: row('named_weights', weightsRow),
  RewardsCounted: row('counted_rewards', countedRow),
} satisfies ProjectionsOf<'training'>;
