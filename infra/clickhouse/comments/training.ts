// The ledger of a run: admissions, steps, staleness, discards and policies.
import type { Comments } from './comments.ts';

const DISCARD = 'Why it was discarded: uniform_group, stale, incomplete, expired, superseded, or invalid';

export const training: Comments = {
  // Runs
  algorithm: 'grpo or reinforce',
  backend: 'Tensor backend of the trainer',
  learner: 'Architecture and hyperparameters, JSON',
  batch_groups: 'Groups in a batch',
  max_staleness: 'Maximum staleness_worst, versions',
  max_concurrent: 'Maximum number of concurrent groups',
  max_attempts: 'Maximum attempts per trajectory',
  stale_policy: 'What happens to a group that is too stale: discard or train',
  dataset: 'Dataset of the questions',
  settings: 'Settings that affect learning, JSON; empty if not recorded',
  steps: 'Steps so far',
  planned_steps: 'Planned steps; 0 for no limit',
  trained: 'Trajectories that were trained on',
  discarded: 'Trajectories that were discarded',
  admitted: 'Trajectories that were admitted; -1 if not recorded',
  open: 'Trajectories of groups that were still open at the end of the run; -1 if not recorded',
  collected: 'Trajectories that were collected without a step (collected runs)',
  batches: 'Batches that were collected without a step (collected runs)',
  batch: 'Number of the batch, from 1',
  detail: 'Why the run ended, in one sentence; empty until then or if not recorded',
  resume: 'Log positions to resume from, JSON',
  reward_mean_first_20: 'Mean of reward_mean over the first 20 steps',
  reward_mean_last_20: 'Mean of reward_mean over the last 20 steps',
  last_step_at: 'Time of the last step, UTC, microseconds; 1970 before the first',

  // Admissions
  accepted: 'Groups that are trained or ready',
  groups: 'Groups that the step trained on',
  group_ids: 'Ids of the groups that were admitted',
  question_ids: 'Ids of their questions in the order of group_ids',
  samples: 'Trajectories per question',

  // Steps
  trajectories: 'Trajectories that the step trained on',
  tokens: 'Tokens that the policy generated',
  reward_mean: 'Mean reward of the trajectories',
  f1_mean: 'Mean F1 of the trajectories, 0 to 1',
  em_mean: 'Mean exact match of the trajectories, 0 to 1',
  format_mean: 'Share of trajectories in the required format, 0 to 1',
  turns_mean: 'Mean turns of the trajectories',
  tool_calls_mean: 'Mean tool calls of the trajectories',
  loss: 'Loss of the update',
  approx_kl: 'Estimate of the KL divergence between the policy before and after the update, nats',
  behave_kl: 'Estimate of the KL divergence between the behavior policy and the policy before the update, nats',
  clip_fraction: 'Share of decisions with a clipped ratio, 0 to 1',
  capped_fraction: 'Share of decisions with a capped behavior weight, 0 to 1',
  ess: 'Effective sample size, decisions: (sum w)^2 / sum w^2 of the behavior weights',
  entropy: 'Mean entropy of the policy, nats',
  grad_norm: 'Norm of the gradient before clipping',
  wait_ms: 'Time from the end of the previous step until the batch was full, ms',
  train_ms: 'Duration of the update, ms',
  batch_sha256: 'SHA-256 of all input of the learner, hexadecimal',
  weights_sha256: 'SHA-256 of the weights of version_after, hexadecimal',
  optimizer_sha256: 'SHA-256 of the optimizer state, hexadecimal; empty if there is none',

  // One trajectory
  advantage: 'Advantage of the trajectory within its group',
  staleness_total: 'Version before the step minus version_first, versions',
  staleness_in_flight: 'Part of staleness_total that passed while the trajectory ran, versions',
  staleness_in_queue: 'Part of staleness_total that passed while it waited for the trainer, versions',
  staleness_worst: 'Staleness of the oldest token, versions',
  staleness_best: 'Staleness of the newest token, versions',
  staleness_span: 'Policy versions from the oldest to the newest token, versions; 0 if none is known',
  staleness_token_mean: 'Mean staleness over tokens with a known version, versions',
  staleness_token_p95: '95th percentile of staleness over tokens with a known version, versions',
  staleness_token_max: 'Maximum staleness of a token with a known version, versions',
  flight_ms: 'Time from the start of the trajectory to its end, ms',
  queue_ms: 'Time from the end of the trajectory to its training or discard, ms',
  is_kept: 'Whether the trajectory was trained on',
  reason: DISCARD,
  next_attempt: 'Attempt that was requested instead; -1 if none is left',

  // Staleness of a step
  staleness_mean: 'Mean of staleness_total over the trajectories, versions; staleness_in_flight_mean + staleness_in_queue_mean',
  staleness_p95: '95th percentile of staleness_total over the trajectories, versions',
  staleness_max: 'Maximum staleness_total of a trajectory, versions',
  staleness_in_flight_mean: 'Mean of staleness_in_flight over the trajectories, versions',
  staleness_in_queue_mean: 'Mean of staleness_in_queue over the trajectories, versions',
  flight_ms_mean: 'Mean of flight_ms over the trajectories, ms',
  queue_ms_mean: 'Mean of queue_ms over the trajectories, ms',

  // Policies
  parent: 'Policy version that this one was trained from; -1 for the first',
  sha256: 'SHA-256 of the weights, hexadecimal; the weights themselves stay in the log',
  format: 'Format of the weights',
  weights_bytes: 'Size of the weights in the log, bytes; 0 if they are stored elsewhere',
  uri: 'URI of the weights if they are not in the log',
  optimizer_bytes: 'Size of the optimizer state, bytes',
  architecture: 'Architecture of the network, JSON',
};

export const trainingOf: Readonly<Record<string, Comments>> = {
  run_events: {
    learner: 'Architecture and hyperparameters, JSON',
    weights_sha256: 'SHA-256 of the weights of version 0, hexadecimal',
    steps: 'Planned steps (0 for no limit) in the start event, completed steps in the end event',
    reason: 'Why the run ended: steps_reached, collected, or a reason to stop early; empty in the start event',
    discarded: 'Trajectories of closed groups that were not trained on',
    resume: 'Log positions to resume from, JSON',
  },
  lineage_records: {
    trajectory_reward: 'Reward of the trajectory, by the step that trained on it',
  },
  runs: {
    status: 'running, finished, or recorded (not trained here, no ledger)',
    purposes: 'Purposes of its attempts: train, eval, external, load',
    is_trained: 'Whether the run has a ledger',
    reason: 'Why the run ended; empty while it runs',
    reward_mean: 'Mean reward of the trajectories of the last step',
    staleness_max: 'Maximum staleness_max of a step, versions',
    tokens: 'Generated tokens of the trajectories that were trained on',
  },
  admissions: {
    version: 'Policy version when the groups were admitted',
    capacity: 'Groups that may be admitted',
    running: 'Groups that are running',
    groups: 'Groups that were admitted',
    samples: 'Trajectories of each group in the order of group_ids',
  },
  steps: {
    tokens: 'Generated tokens of the trajectories of the step',
    generated_tokens: 'Generated tokens of the trajectories of the step, the same as tokens',
    weights_sha256: 'SHA-256 of the weights of version_after, hexadecimal',
    resume: 'Log positions to resume from, JSON',
  },
  batches: {
    version: 'Newest policy version that the model has reported; -1 if none',
    groups: 'Groups that were collected',
    trajectories: 'Trajectories that were collected',
    tokens: 'Tokens of the trajectories of the batch',
    wait_ms: 'Time from the previous batch until this one was full, ms',
    resume: 'Log positions to resume from, JSON',
  },
  collected_trajectories: {
    version: 'Newest policy version that the model had reported; -1 if none',
    staleness_total: 'Newest version that the model had reported minus version_first, versions',
    queue_ms: 'Time from the end of the trajectory until it was collected, ms',
  },
  discarded_trajectories: {
    version: 'Policy version when the trajectory was discarded',
    staleness_total: 'Version at the discard minus version_first, versions',
  },
  discards_by_version: {
    version: 'Policy version when the trajectories were discarded',
    discarded: 'Trajectories that were discarded at this version for this reason',
  },
  expired_attempts: {
    reason: 'Why the attempt was given up: silent, wall_clock, lost_claim, unusable, or refused',
    next_attempt: 'Attempt that was requested instead; -1 if none is left',
  },
  outcomes: { reason: `${DISCARD}; empty if it was trained on` },
  policies: {
    parent: 'Policy version that this one was trained from; -1 for the first',
    sha256: 'SHA-256 of the weights, hexadecimal; the weights themselves stay in the log',
    architecture: 'Architecture of the network, JSON',
  },
  staleness_by_step: {
    staleness_worst: 'Maximum staleness_worst of a trajectory, versions',
    tokens: 'Generated tokens of the trajectories of the step',
    discarded: 'Trajectories that were discarded at this step',
  },
  step_spreads: {
    finished: 'Finished trajectories of the step, trained on or discarded, that count as an outcome',
    step: 'Number of the step; a discard at version v belongs to step v + 1',
  },
  curves: {
    discarded: 'Trajectories that were discarded at this step',
    completion_tokens_mean: 'Mean completion tokens of the trajectories',
  },
};
