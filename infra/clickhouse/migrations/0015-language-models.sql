-- Runs whose policy the trainer does not make: what they keep, and what the end of any run says happened.
create table batches (
  run_id LowCardinality(String),
  batch Int32,
  sequence Int64,
  previous_sha256 String codec(ZSTD(1)),
  version Int32,
  groups Int32,
  trajectories Int32,
  tokens Int64,
  unknown_tokens Int64,
  reward_mean Float64 codec(ZSTD(1)),
  wait_ms Float64 codec(ZSTD(1)),
  resume String codec(ZSTD(1)),
  event_id String codec(ZSTD(1)),
  at DateTime64(6, 'UTC') codec(Delta, ZSTD(1)),
  producer LowCardinality(String),
  _topic LowCardinality(String),
  _partition Int32,
  _offset Int64 codec(Delta, ZSTD(1)),
  _timestamp DateTime64(3, 'UTC') codec(Delta, ZSTD(1))
) engine = MergeTree
partition by toYYYYMM(_timestamp)
order by (run_id, batch)
settings non_replicated_deduplication_window = 10000;

create table collected_trajectories (
  run_id LowCardinality(String),
  batch Int32,
  sequence Int64,
  previous_sha256 String codec(ZSTD(1)),
  version Int32,
  group_id String codec(ZSTD(1)),
  trajectory_id String codec(ZSTD(1)),
  attempt Int32,
  question_id String codec(ZSTD(1)),
  reward Float64 codec(ZSTD(1)),
  advantage Float64 codec(ZSTD(1)),
  tokens Int64 codec(T64, ZSTD(1)),
  turns Int32,
  version_first Int32,
  version_last Int32,
  staleness_total Int32,
  staleness_in_flight Int32,
  staleness_in_queue Int32,
  staleness_worst Int32,
  staleness_best Int32,
  staleness_span Int32,
  staleness_token_mean Float64 codec(ZSTD(1)),
  staleness_token_p95 Int32,
  staleness_token_max Int32,
  unknown_tokens Int64,
  flight_ms Int64 codec(T64, ZSTD(1)),
  queue_ms Int64 codec(T64, ZSTD(1)),
  event_id String codec(ZSTD(1)),
  at DateTime64(6, 'UTC') codec(Delta, ZSTD(1)),
  producer LowCardinality(String),
  _topic LowCardinality(String),
  _partition Int32,
  _offset Int64 codec(Delta, ZSTD(1)),
  _timestamp DateTime64(3, 'UTC') codec(Delta, ZSTD(1)),
  index collected_trajectory trajectory_id type bloom_filter(0.001) granularity 1
) engine = MergeTree
partition by toYYYYMM(_timestamp)
order by (run_id, batch, trajectory_id, attempt)
settings non_replicated_deduplication_window = 10000;

alter table run_events
  add column collected Int64 default 0 codec(ZSTD(1)) after open,
  add column batches Int32 default 0 codec(ZSTD(1)) after collected,
  add column detail String codec(ZSTD(1)) after batches;

-- Where the time of a generation and of a tool call went. generation_ms and tool_ms are all of it.
alter table turns
  add column generation_queue_ms Float32 codec(ZSTD(1)) after decision_entropy,
  add column generation_retries Int32 codec(ZSTD(1)) after generation_queue_ms,
  add column generation_retry_ms Float32 codec(ZSTD(1)) after generation_retries,
  add column generation_server_ms Float32 default -1 codec(ZSTD(1)) after generation_retry_ms,
  add column first_token_ms Float32 default -1 codec(ZSTD(1)) after generation_server_ms,
  add column stop_text LowCardinality(String) after first_token_ms,
  add column tool_queue_ms Float32 codec(ZSTD(1)) after stop_text,
  add column tool_retries Int32 codec(ZSTD(1)) after tool_queue_ms,
  add column tool_retry_ms Float32 codec(ZSTD(1)) after tool_retries,
  add column tool_server_ms Float32 default -1 codec(ZSTD(1)) after tool_retry_ms;

-- How a language model was served, a row a run and a worker: generations that came over the network.
create view generation_health as
select
  run_id,
  worker_id,
  count() as generations,
  countIf(generation_retries > 0) as retried,
  sum(generation_retries) as retries,
  avg(generation_ms) as generation_ms_mean,
  avg(generation_queue_ms) as queue_ms_mean,
  avg(generation_retry_ms) as retry_ms_mean,
  avg(generation_server_ms) as server_ms_mean,
  quantile(0.5)(generation_server_ms) as server_ms_p50,
  quantile(0.95)(generation_server_ms) as server_ms_p95,
  avgOrNullIf(first_token_ms, first_token_ms >= 0) as first_token_ms_mean,
  quantileOrNullIf(0.95)(first_token_ms, first_token_ms >= 0) as first_token_ms_p95
from turns
where generation_server_ms >= 0
  and (run_id, _partition, _offset) not in (select run_id, _partition, _offset from repeated_turns)
group by run_id, worker_id;
