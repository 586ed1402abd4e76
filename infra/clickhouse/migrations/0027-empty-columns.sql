-- What most turns leave empty costs an insert as little as it can: lists of LowCardinality took a fifth of the time of an insert with nothing
-- in them, and neighbors with one codec are compressed together. Parts that exist are converted in the background, and read as before.
alter table turns
  modify column branch_parent codec(ZSTD(1)),
  modify column prompt_keep codec(ZSTD(1)),
  modify column logprobs_kind codec(ZSTD(1)),
  modify column model codec(ZSTD(1)),
  modify column tokenizer_sha256 codec(ZSTD(1)),
  modify column engine codec(ZSTD(1)),
  modify column image_mimes Array(String) codec(ZSTD(1)),
  modify column extra_kinds Array(String) codec(ZSTD(1)),
  modify column extra_dtypes Array(String) codec(ZSTD(1)),
  modify column more_tools Array(String) codec(ZSTD(1)),
  modify column more_tool_statuses Array(String) codec(ZSTD(1)),
  modify column more_tool_error_types Array(String) codec(ZSTD(1))
settings alter_sync = 0;
