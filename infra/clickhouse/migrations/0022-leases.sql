-- Runs that somebody else's trainer trains: who claimed them, which batches were out, and what came back.
create table trainer_claims (
  run_id LowCardinality(String),
  epoch Int32,
  trainer_id String codec(ZSTD(1)),
  framework LowCardinality(String),
  lineage String codec(ZSTD(1)),
  prepared String codec(ZSTD(1)),
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
order by (run_id, epoch)
settings non_replicated_deduplication_window = 10000;

create table leases (
  run_id LowCardinality(String),
  step Int32,
  batch_id String codec(ZSTD(1)),
  epoch Int32,
  version_before Int32,
  group_ids Array(String) codec(ZSTD(1)),
  trajectory_ids Array(String) codec(ZSTD(1)),
  attempts Array(Int32) codec(ZSTD(1)),
  leased_rows Int64,
  tokens Int64,
  bytes Int64,
  batch_sha256 String codec(ZSTD(1)),
  deadline DateTime64(6, 'UTC') codec(Delta, ZSTD(1)),
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
order by (run_id, step, batch_id)
settings non_replicated_deduplication_window = 10000;

create table lease_releases (
  run_id LowCardinality(String),
  step Int32,
  batch_id String codec(ZSTD(1)),
  epoch Int32,
  reason LowCardinality(String),
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
order by (run_id, step, batch_id)
settings non_replicated_deduplication_window = 10000;

alter table steps
  add column batch_id String codec(ZSTD(1)) after optimizer_sha256,
  add column trained_rows Int64 after batch_id,
  add column skipped String codec(ZSTD(1)) after trained_rows,
  add column lineage String codec(ZSTD(1)) after skipped,
  add column report String codec(ZSTD(3)) after lineage,
  add column report_sha256 String codec(ZSTD(1)) after report;

alter table policies
  add column manifest String codec(ZSTD(3)) after backend,
  add column loadable Bool default true after manifest,
  add column bytes Int64 after loadable;
