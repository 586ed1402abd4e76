-- The verdict that is part of a reward, and who gave it; and whether the answer calls its question invalid.
alter table trajectories
  add column judge LowCardinality(String) codec(ZSTD(1)) after finished_at,
  add column verdict LowCardinality(String) codec(ZSTD(1)) after judge,
  add column judge_reason String codec(ZSTD(1)) after verdict,
  add column judge_tries Int32 codec(ZSTD(1)) after judge_reason,
  add column judge_ms Float64 codec(ZSTD(1)) after judge_tries,
  add column judge_served LowCardinality(String) codec(ZSTD(1)) after judge_ms,
  add column judge_version Int32 default -1 codec(ZSTD(1)) after judge_served,
  add column judge_prompt_sha256 LowCardinality(String) codec(ZSTD(1)) after judge_version,
  add column asked_as LowCardinality(String) codec(ZSTD(1)) after judge_prompt_sha256,
  add column called_invalid Bool after asked_as;
