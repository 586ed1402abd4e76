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
