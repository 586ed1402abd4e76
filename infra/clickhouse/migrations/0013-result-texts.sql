-- Each result of a tool once, however many turns saw it: a page that thousands of trajectories read is searched in one place. The
-- warehouse adds them a while after their turns; `result_text_marks` says how far it has come.
create table result_texts (
  sha256 String comment 'SHA-256 of the whole result, hexadecimal, as in turns.tool_result_sha256' codec(ZSTD(1)),
  text String comment 'Result as stored' codec(ZSTD(3)),
  index result_tokens lower(text) type tokenbf_v1(32768, 3, 0) granularity 1
) engine = ReplacingMergeTree
order by sha256
settings non_replicated_deduplication_window = 10000, index_granularity = 256;

create table result_text_marks (
  partition Int32 comment 'Partition of the topic of rollouts',
  offset Int64 comment 'Results of turns before this offset are in result_texts'
) engine = ReplacingMergeTree(offset)
order by partition
settings non_replicated_deduplication_window = 10000;
