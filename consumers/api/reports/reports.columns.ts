// Columns of the reports, named as in the statements of reports.sql.ts.

export const toolChangeColumns = {
  tool: 'text',
  error_type: 'text',
  calls_before: 'whole',
  calls_since: 'whole',
  ms_p50_before: 'number',
  ms_p50_since: 'number',
  ms_p95_before: 'number',
  ms_p95_since: 'number',
  slower: 'number',
  slowest_arguments_since: 'text',
} as const;

export const lengthColumns = {
  turns: 'whole',
  early: 'whole',
  late: 'whole',
  early_reward: 'number',
  late_reward: 'number',
  early_share: 'number',
  late_share: 'number',
  by_length: 'number',
  at_same_length: 'number',
} as const;

export const wallClockColumns = { side: 'text', phase: 'text', seconds: 'number', share: 'number' } as const;

export const runQuestionColumns = {
  question_id: 'text',
  text: 'text',
  tries: 'whole',
  right_answers: 'whole',
  f1_mean: 'number',
  reward_mean: 'number',
  outcome: 'text',
  flips: 'whole',
  first_version: 'whole',
  last_version: 'whole',
} as const;

export const workerColumns = {
  worker_id: 'text',
  started: 'whole',
  finished: 'whole',
  lost: 'whole',
  lost_share: 'number',
  failed: 'whole',
  cancelled: 'whole',
  running: 'whole',
  late: 'whole',
  reward_mean: 'number',
  tool_failure_rate: 'number',
  ms_per_turn: 'number',
  slowness: 'number',
  longest_silence_s: 'number',
  last_heartbeat_at: 'time',
} as const;

export const costColumns = {
  version: 'whole',
  trajectories: 'whole',
  reward_sum: 'number',
  prompt_tokens_per_reward: 'number',
  completion_tokens_per_reward: 'number',
  tool_calls_per_reward: 'number',
  seconds_per_reward: 'number',
} as const;

/** Columns of the statement, which compares a run with one other run. */
export const differenceColumns = { kind: 'text', name: 'text', this_run: 'text', other_run: 'text', differs: 'flag' } as const;
/** `other_runs` has one value for each of the other runs, in the order of the request; `other_run` is the first of them. */
export const compareColumns = { ...differenceColumns, other_runs: 'texts' } as const;
