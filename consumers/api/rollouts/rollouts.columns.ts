// Columns of rollouts. Lists have heavy texts only when a request names them.
import { turnFieldKinds, turnRowKinds } from '../../../schemas/rollouts/turn.ts';

/** The order of the log. */
export const orderColumns = { _timestamp: 'time', _offset: 'whole' } as const;

export const trajectoryColumns = {
  run_id: 'text',
  group_id: 'text',
  trajectory_id: 'text',
  attempt: 'whole',
  purpose: 'text',
  worker_id: 'text',
  question_id: 'text',
  question: 'text',
  answer: 'text',
  status: 'text',
  error: 'text',
  reward: 'number',
  f1: 'number',
  em: 'number',
  cem: 'number',
  format_ok: 'flag',
  turns: 'whole',
  tool_calls: 'whole',
  tool_errors: 'whole',
  prompt_tokens: 'whole',
  completion_tokens: 'whole',
  version_first: 'whole',
  version_last: 'whole',
  started_at: 'time',
  finished_at: 'time',
  judge: 'text',
  verdict: 'text',
  judge_reason: 'text',
  judge_tries: 'whole',
  judge_ms: 'number',
  judge_served: 'text',
  judge_version: 'whole',
  judge_prompt_sha256: 'text',
  asked_as: 'text',
  called_invalid: 'flag',
  _topic: 'text',
  _partition: 'whole',
  _offset: 'whole',
  _timestamp: 'time',
} as const;

/** A turn, as the table of its fields defines it, and its position in the log. */
export const turnColumns = { ...turnRowKinds, _topic: 'text', _partition: 'whole', _offset: 'whole', _timestamp: 'time' } as const;

/** What `fields=` may add to a turn. */
export const heavyTurnColumns = turnFieldKinds;

/** A tool call of any trajectory. */
export const toolCallColumns = {
  run_id: 'text',
  group_id: 'text',
  trajectory_id: 'text',
  attempt: 'whole',
  turn: 'whole',
  purpose: 'text',
  worker_id: 'text',
  call_id: 'text',
  tool: 'text',
  status: 'text',
  error_type: 'text',
  started_at: 'time',
  ms: 'number',
  arguments: 'text',
  result_head: 'text',
  result_chars: 'whole',
  truncated: 'flag',
  cache_hit: 'flag',
  policy_version_min: 'whole',
  policy_version_max: 'whole',
  occurred_at: 'time',
} as const;
export const heavyToolCallColumns = { result: 'text', item_urls: 'texts', item_titles: 'texts' } as const;

/** What was requested, before a worker started on it. */
export const taskColumns = {
  run_id: 'text',
  group_id: 'text',
  trajectory_id: 'text',
  attempt: 'whole',
  sample: 'whole',
  group_size: 'whole',
  purpose: 'text',
  question_id: 'text',
  question: 'text',
  decoding: 'text',
  policy_version: 'whole',
  admitted_version: 'whole',
  max_turns: 'whole',
  max_tokens: 'whole',
  max_wall_ms: 'whole',
  occurred_at: 'time',
} as const;

/** What the ledger records of an attempt that is trained on or collected. */
const accountColumns = {
  attempt: 'whole',
  run_id: 'text',
  reward: 'number',
  advantage: 'number',
  staleness_total: 'whole',
  staleness_in_flight: 'whole',
  staleness_in_queue: 'whole',
  staleness_worst: 'whole',
  staleness_token_mean: 'number',
  unknown_tokens: 'whole',
  flight_ms: 'whole',
  queue_ms: 'whole',
  at: 'time',
} as const;

/** A step that trained on an attempt. */
export const trainingColumns = { step: 'whole', ...accountColumns } as const;

/** A batch that kept an attempt, in a run whose policy the trainer does not train. */
export const collectedColumns = { batch: 'whole', ...accountColumns } as const;

/** A rewind that abandoned the step that trained on an attempt. The rewind made `version` from `to_version`. */
export const rewoundColumns = {
  attempt: 'whole',
  run_id: 'text',
  step: 'whole',
  version: 'whole',
  to_version: 'whole',
  at: 'time',
} as const;

/** Why an attempt was not trained on. */
export const discardColumns = {
  attempt: 'whole',
  run_id: 'text',
  reason: 'text',
  version: 'whole',
  staleness_total: 'whole',
  at: 'time',
} as const;

export const lineageColumns = {
  run_id: 'text',
  step: 'whole',
  version_before: 'whole',
  version_after: 'whole',
  trained_at: 'time',
  group_id: 'text',
  trajectory_id: 'text',
  attempt: 'whole',
  question_id: 'text',
  trajectory_reward: 'number',
  advantage: 'number',
  staleness_total: 'whole',
  staleness_in_flight: 'whole',
  staleness_in_queue: 'whole',
  turn: 'whole',
  policy_version_min: 'whole',
  policy_version_max: 'whole',
  completion_tokens: 'whole',
  tool: 'text',
  call_id: 'text',
  tool_status: 'text',
  tool_error_type: 'text',
  tool_ms: 'number',
  tool_arguments: 'text',
  tool_result_head: 'text',
  occurred_at: 'time',
  _topic: 'text',
  _partition: 'whole',
  _offset: 'whole',
} as const;
