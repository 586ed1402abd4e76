-- Runs of external trainers that went back to an older version, and weights that were published after their step.
create table rewinds (
  run_id LowCardinality(String),
  version Int32,
  to_version Int32,
  abandoned Array(Int32),
  trajectories Int64,
  weights_sha256 String codec(ZSTD(1)),
  epoch Int32,
  reason String codec(ZSTD(1)),
  sequence Int64,
  previous_sha256 String codec(ZSTD(1)),
  event_id String codec(ZSTD(1)),
  at DateTime64(6, 'UTC') codec(Delta, ZSTD(1)),
  producer LowCardinality(String),
  _topic LowCardinality(String),
  _partition Int32,
  _offset Int64 codec(Delta, ZSTD(1)),
  _timestamp DateTime64(3, 'UTC') codec(Delta, ZSTD(1))
) engine = MergeTree
partition by toYYYYMM(_timestamp)
order by (run_id, version)
settings non_replicated_deduplication_window = 10000;

create table named_weights (
  run_id LowCardinality(String),
  version Int32,
  sha256 String codec(ZSTD(1)),
  uri String codec(ZSTD(1)),
  format LowCardinality(String),
  sequence Int64,
  previous_sha256 String codec(ZSTD(1)),
  event_id String codec(ZSTD(1)),
  at DateTime64(6, 'UTC') codec(Delta, ZSTD(1)),
  producer LowCardinality(String),
  _topic LowCardinality(String),
  _partition Int32,
  _offset Int64 codec(Delta, ZSTD(1)),
  _timestamp DateTime64(3, 'UTC') codec(Delta, ZSTD(1))
) engine = MergeTree
partition by toYYYYMM(_timestamp)
order by (run_id, version)
settings non_replicated_deduplication_window = 10000;

-- Versions that are not of the chain of versions any more. The step of such a version stays in steps, and its trajectories in
-- step_trajectories: they were trained on, and what was learned from them is gone.
create view abandoned_versions as
select run_id, one as version, made as abandoned_by
from (select run_id, abandoned, version as made from rewinds) array join abandoned as one;
