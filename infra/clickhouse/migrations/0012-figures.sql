-- Figures that lists and charts would otherwise make of every trajectory and every turn of a run again. They are made by the
-- warehouse out of the tables, once those hold everything that a figure is about, and may be emptied at any time: whoever reads
-- makes the figures that are not here.

-- What the trajectories of a step were like: the part of the view `curves` that reads trajectories and turns.
create table step_figures (
  run_id LowCardinality(String) comment 'Slug of the run',
  step Int32 comment 'Number of the step',
  trajectories Int64 comment 'Trajectories that the step trained on',
  reward_mean Float64 comment 'Mean reward',
  reward_min Float64 comment 'Lowest reward',
  reward_max Float64 comment 'Highest reward',
  reward_p95 Float64 comment '95th percentile of the reward',
  f1_mean Float64 comment 'Mean F1, 0 to 1',
  f1_min Float64 comment 'Lowest F1, 0 to 1',
  f1_max Float64 comment 'Highest F1, 0 to 1',
  f1_p95 Float64 comment '95th percentile of F1, 0 to 1',
  em_mean Float64 comment 'Mean exact match, 0 to 1',
  format_rate Float64 comment 'Share of answers in the right format, 0 to 1',
  turns_mean Float64 comment 'Mean number of turns',
  turns_min Int32 comment 'Fewest turns',
  turns_max Int32 comment 'Most turns',
  turns_p95 Int32 comment '95th percentile of the number of turns',
  tool_calls_mean Float64 comment 'Mean number of tool calls',
  tool_calls_min Int32 comment 'Fewest tool calls',
  tool_calls_max Int32 comment 'Most tool calls',
  tool_calls_p95 Int32 comment '95th percentile of the number of tool calls',
  searches_mean Float64 comment 'Mean number of searches',
  searches_min Int64 comment 'Fewest searches',
  searches_max Int64 comment 'Most searches',
  searches_p95 Int64 comment '95th percentile of the number of searches',
  accesses_mean Float64 comment 'Mean number of opened pages',
  accesses_min Int64 comment 'Fewest opened pages',
  accesses_max Int64 comment 'Most opened pages',
  accesses_p95 Int64 comment '95th percentile of the number of opened pages',
  tool_errors_mean Float64 comment 'Mean number of failed tool calls',
  tokens_mean Float64 comment 'Mean number of tokens that were trained on',
  tokens_min Int64 comment 'Fewest tokens',
  tokens_max Int64 comment 'Most tokens',
  tokens_p95 Int64 comment '95th percentile of the number of tokens',
  completion_tokens_mean Float64 comment 'Mean number of tokens that the policy made',
  completion_tokens_min Int64 comment 'Fewest tokens that the policy made',
  completion_tokens_max Int64 comment 'Most tokens that the policy made',
  completion_tokens_p95 Int64 comment '95th percentile of the number of tokens that the policy made'
) engine = ReplacingMergeTree
order by (run_id, step)
settings non_replicated_deduplication_window = 10000;

-- Tool calls of a run, 16 policy versions at a time (block -1: versions that nobody knows). A row counts when as many turns are
-- stored of its block as it was made of. Latencies are counts by bucket: bucket b is 1.02 to the power of b milliseconds.
create table tool_figures (
  run_id LowCardinality(String) comment 'Slug of the run',
  block Int32 comment 'Policy version divided by 16',
  turns Int64 comment 'Turns of the block that this was made of',
  purpose LowCardinality(String) comment 'What the attempts were for: train, eval, external, load',
  tool LowCardinality(String) comment 'Name of the tool',
  status LowCardinality(String) comment 'ok, error, timeout or refused',
  error_type LowCardinality(String) comment 'Kind of failure, empty for calls that worked',
  calls Int64 comment 'Calls',
  cache_hits Int64 comment 'Calls that a cache answered',
  truncated_results Int64 comment 'Calls whose result was cut',
  ms_sum Float64 comment 'Latency of all calls, ms',
  ms_max Float64 comment 'Highest latency, ms',
  ms_buckets Array(Int16) comment 'Buckets of latency',
  ms_calls Array(Int64) comment 'Calls in each bucket',
  result_chars_sum Int64 comment 'Length of all results, characters',
  slowest_arguments String comment 'Arguments of the slowest call, JSON' codec(ZSTD(3)),
  first_at DateTime64(6, 'UTC') comment 'First call',
  last_at DateTime64(6, 'UTC') comment 'Last call'
) engine = ReplacingMergeTree(turns)
order by (run_id, block, purpose, tool, status, error_type)
settings non_replicated_deduplication_window = 10000;

alter table turns add index turns_versions policy_version_max type minmax granularity 1;
