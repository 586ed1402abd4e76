// Tasks, trajectories, turns and tool calls.
import type { Comments } from "./column-comments.ts";

export const rollouts: Comments = {
  // Tasks
  group_index:
    "Number of the group within its run in order of admission, from 0",
  group_size: "Trajectories in a group",
  decoding: "sample or greedy",
  seed: "Seed of every random choice of the run",
  policy_version: "Policy version in use; -1 for the newest at each turn",
  max_turns: "Limit of the attempt, turns",
  max_tokens: "Limit of the attempt, tokens",
  max_wall_ms: "Limit of the attempt by the wall clock, ms",
  admitted_version: "Policy version when the group was admitted",
  task_partition: "Kafka partition of the task that the worker took",
  task_offset: "Kafka offset of the task that the worker took",
  question: "Text of the question",
  answers: "Gold answers, any of which is right",
  aug_answers: "Gold answers of the augmented form, weighted 0.3 in the reward",

  // Workers
  capacity: "Trajectories that the worker can run at once",
  running: "Attempts that the worker was running",
  running_trajectories: "Ids of the trajectories that the worker was running",
  running_attempts: "Attempts in the order of running_trajectories, from 0",

  // Trajectories
  answer: "Answer of the policy; empty when there is none",
  status:
    "How the attempt ended: answered, max_turns, max_tokens, timeout, cancelled or failed",
  error: "What went wrong; empty when nothing did",
  reward: "Reward of the trajectory, 0 to 1 for the built-in rewards",
  f1: "F1 of the answer, 0 to 1",
  em: "Exact match of the answer, 0 or 1",
  cem: "1 when the answer contains a gold answer, else 0",
  format_ok: "Whether every turn kept to the format of actions",
  turns: "Turns of the attempt",
  tool_calls: "Tool calls of the attempt",
  tool_errors: "Tool calls of the attempt that failed",
  prompt_tokens: "Tokens of all prompts of the attempt",
  completion_tokens: "Tokens that the policy wrote",
  version_first: "Policy version at the first turn; -1 when unknown",
  version_last: "Policy version at the last turn; -1 when unknown",
  started_at: "Start, UTC, microseconds",
  finished_at: "End, UTC, microseconds; 1970 when there is none yet",

  // Turns
  policy_version_min:
    "Oldest known policy version behind a token of the turn; -1 when none is known",
  policy_version_max:
    "Newest known policy version behind a token of the turn; -1 when none is known",
  policy_span_versions:
    "Policy versions behind the completion in the order of its tokens; -1 when unknown",
  policy_span_tokens: "Tokens of each entry of policy_span_versions",
  unknown_tokens:
    "Tokens whose policy version is unknown; no staleness figure counts them",
  generation_ms: "Time that the policy took for the completion, ms",
  finish_reason: "Why the completion ended, as the engine says it",
  text: "What the policy wrote",
  text_head: "First 200 characters of text",
  token_ids: "Token ids of the completion; empty when the engine gives none",
  logprobs:
    "Log-probabilities of the completion tokens, nats; empty when the engine gives none",
  decision_candidates:
    "Actions that the built-in policy chose among; 0 for every other policy",
  decision_width: "Features of each candidate; 0 without a decision",
  decision_chosen:
    "Index of the candidate that was chosen, from 0; -1 without a decision",
  decision_logprob: "Log-probability of the choice, nats",
  decision_entropy: "Entropy of the distribution over candidates, nats",
  truncated: "Whether a text was cut to fit its record",

  // Tool calls, in turns
  tool: "Tool that was called: search, access, answer or another name; empty for none",
  tool_status: "ok, error, timeout or refused",
  tool_error_type:
    "Kind of failure, such as not_found or http_500; empty when ok",
  tool_started_at: "Start of the tool call, UTC, microseconds",
  tool_ms: "Latency of the tool call, ms",
  tool_arguments: "Arguments of the tool call, JSON",
  tool_result: "Text that the tool returned, cut when truncated is true",
  tool_result_head: "First 200 characters of the result",
  tool_result_chars: "Length of the whole result before any cut, characters",
  tool_result_sha256:
    "SHA-256 of the whole result, hexadecimal; empty when there is none",
  tool_item_urls: "URLs of the items that the tool returned",
  tool_item_titles: "Titles of the items in the order of the URLs",
  cache_hit: "Whether a cache answered the tool call",

  // Tool calls, in views
  error_type: "Kind of failure, such as not_found or http_500; empty when ok",
  ms: "Latency of the tool call, ms",
  arguments: "Arguments of the tool call, JSON",
  result: "Text that the tool returned, cut when truncated is true",
  result_head: "First 200 characters of the result",
  result_chars: "Length of the whole result before any cut, characters",
  result_sha256:
    "SHA-256 of the whole result, hexadecimal; empty when there is none",
  item_urls: "URLs of the items that the tool returned",
  item_titles: "Titles of the items in the order of the URLs",
  calls: "Tool calls",
  ok: "Tool calls that worked",
  errors: "Tool calls that ended in an error",
  timeouts: "Tool calls that ran out of time",
  refused: "Tool calls that were refused",
  failure_rate: "Share of tool calls that are not ok, 0 to 1",
  cache_hits: "Tool calls that a cache answered",
  truncated_results: "Tool calls with a text that was cut",
  ms_mean: "Mean latency of the tool calls, ms",
  ms_p50: "Median latency of the tool calls, ms",
  ms_p95: "95th percentile of the latency of the tool calls, ms",
  ms_p99: "99th percentile of the latency of the tool calls, ms",
  ms_max: "Highest latency of the tool calls, ms",
  result_chars_mean: "Mean length of the results, characters",
  frequent_error_types: "Up to three most frequent kinds of failure",
  first_at: "Time of the first tool call, UTC, microseconds",
  last_at: "Time of the last tool call, UTC, microseconds",
};

export const rolloutsOf: Readonly<Record<string, Comments>> = {
  tasks: {
    reward: "Score that the reward is made of: f1 or em",
    seed: "Seed of every random choice of the attempt",
    policy_version: "Policy version to use; -1 for the newest at each turn",
  },
  turns: {
    reward: "Reward of this turn alone",
    prompt_tokens: "Tokens of the prompt of the turn",
    completion_tokens: "Tokens that the policy wrote in the turn",
    policy_version_min:
      "Oldest known policy version behind a token of the turn; -1 when none is known",
    unknown_tokens: "Tokens of the turn whose policy version is unknown",
    decision_candidates:
      "Actions that the built-in policy chose among; 0 for every other policy",
  },
  trajectories: {
    completion_tokens: "Tokens that the policy wrote in the attempt",
  },
  lineage: {
    completion_tokens: "Tokens that the policy wrote in the turn",
    trajectory_reward: "Reward of the trajectory",
    trained_at: "Time of the step, UTC, microseconds",
  },
  heartbeats: { running: "Attempts that the worker was running" },
  tool_calls: {
    status: "ok, error, timeout or refused",
    started_at: "Start of the tool call, UTC, microseconds",
  },
};
