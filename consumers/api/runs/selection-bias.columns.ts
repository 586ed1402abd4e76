// Columns of the comparison between trained and discarded trajectories.

/** The kept side. */
const keptColumns = {
  kept: 'whole',
  kept_reward_mean: 'number',
  kept_reward_p50: 'number',
  kept_reward_p95: 'number',
  kept_turns_mean: 'number',
  kept_turns_p50: 'number',
  kept_turns_p95: 'number',
  kept_tokens_mean: 'number',
  kept_tokens_p50: 'number',
  kept_tokens_p95: 'number',
  kept_staleness_mean: 'number',
  kept_flight_ms_mean: 'number',
} as const;

const discardedColumns = {
  discarded: 'whole',
  discarded_reward_mean: 'number',
  discarded_reward_p50: 'number',
  discarded_reward_p95: 'number',
  discarded_turns_mean: 'number',
  discarded_turns_p50: 'number',
  discarded_turns_p95: 'number',
  discarded_tokens_mean: 'number',
  discarded_tokens_p50: 'number',
  discarded_tokens_p95: 'number',
  discarded_staleness_mean: 'number',
  discarded_flight_ms_mean: 'number',
} as const;

/** Two-sample Kolmogorov-Smirnov distances, 0 to 1; null when a side is empty. */
const distanceColumns = { reward_ks: 'number', turns_ks: 'number', tokens_ks: 'number' } as const;

export const biasFigureColumns = { ...keptColumns, ...discardedColumns, ...distanceColumns } as const;
export const biasColumns = { step: 'whole', ...biasFigureColumns } as const;

/** One reason, compared with everything that was kept; the empty reason stands for the kept side. */
export const biasReasonColumns = {
  reason: 'text',
  trajectories: 'whole',
  reward_mean: 'number',
  reward_p50: 'number',
  reward_p95: 'number',
  turns_mean: 'number',
  turns_p50: 'number',
  turns_p95: 'number',
  tokens_mean: 'number',
  tokens_p50: 'number',
  tokens_p95: 'number',
  staleness_mean: 'number',
  flight_ms_mean: 'number',
  ...distanceColumns,
} as const;
