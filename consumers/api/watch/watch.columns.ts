// Columns for monitoring a run: admissions, and the weights that its workers use.

export const admissionColumns = {
  sequence: 'whole',
  version: 'whole',
  capacity: 'whole',
  running: 'whole',
  accepted: 'whole',
  max_concurrent: 'whole',
  max_staleness: 'whole',
  groups: 'whole',
  at: 'time',
} as const;

/** A span of admissions: the last one, and the extremes of all. */
export const admissionSpanColumns = {
  ...admissionColumns,
  admissions: 'whole',
  capacity_min: 'whole',
  capacity_max: 'whole',
  running_min: 'whole',
  running_max: 'whole',
} as const;

export const syncColumns = {
  version: 'whole',
  worker_id: 'text',
  published_at: 'time',
  first_turn_at: 'time',
  last_turn_at: 'time',
  turns: 'whole',
  lag_ms: 'number',
} as const;

export const weatherColumns = {
  tool: 'text',
  at: 'time',
  calls: 'whole',
  failed: 'whole',
  ms_p50: 'number',
  ms_p95: 'number',
} as const;

export const outageColumns = {
  tool: 'text',
  from: 'time',
  to: 'time',
  calls: 'whole',
  failed: 'whole',
  usual_failure_rate: 'number',
  from_step: 'whole',
  to_step: 'whole',
} as const;

export const advisoryColumns = {
  rule: 'text',
  severity: 'text',
  title: 'text',
  detail: 'text',
  is_over: 'flag',
  page: 'text',
  sql: 'text',
} as const;

/** What the trainer of a run does, and its newest ledger entry. */
export const trainerColumns = { trainer: 'text', ledger_entry: 'text', ledger_at: 'time' } as const;

/** The current state of a run. */
export const stateColumns = {
  continued: 'whole',
  capacity: 'whole',
  running: 'whole',
  max_concurrent: 'whole',
  admitted_at: 'time',
  worst_step: 'whole',
  worst_trajectory_id: 'text',
  worst_attempt: 'whole',
  worst_reward: 'number',
  ...trainerColumns,
} as const;
