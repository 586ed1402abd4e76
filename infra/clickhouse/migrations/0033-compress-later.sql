-- Looking for repeats in all of a block of results took a fifth of the time of an insert. Merges do it now, once the turns are a minute old.
-- The codec of such a merge is that of every column without its own or with Default, so all columns but the results name theirs. Parts that
-- exist keep theirs until they merge.
alter table turns
  modify column run_id codec(LZ4),
  modify column attempt codec(LZ4),
  modify column turn codec(LZ4),
  modify column sequence codec(LZ4),
  modify column purpose codec(LZ4),
  modify column worker_id codec(LZ4),
  modify column policy_version_min codec(LZ4),
  modify column policy_version_max codec(LZ4),
  modify column policy_span_versions codec(LZ4),
  modify column policy_span_tokens codec(LZ4),
  modify column prompt_tokens codec(LZ4),
  modify column completion_tokens codec(LZ4),
  modify column unknown_tokens codec(LZ4),
  modify column finish_reason codec(LZ4),
  modify column stop_text codec(LZ4),
  modify column tool codec(LZ4),
  modify column tool_status codec(LZ4),
  modify column tool_error_type codec(LZ4),
  modify column truncated codec(LZ4),
  modify column cache_hit codec(LZ4),
  modify column decision_candidates codec(LZ4),
  modify column decision_width codec(LZ4),
  modify column decision_chosen codec(LZ4),
  modify column producer codec(LZ4),
  modify column _topic codec(LZ4),
  modify column _partition codec(LZ4);
alter table turns modify column tool_result codec(Default);
alter table turns modify setting default_compression_codec = 'ZSTD(1)', merge_with_recompression_ttl_timeout = 3600;
alter table turns
  modify ttl toDateTime(_timestamp) + interval 1 minute recompress codec(ZSTD(3, 24))
  settings materialize_ttl_after_modify = 0;
