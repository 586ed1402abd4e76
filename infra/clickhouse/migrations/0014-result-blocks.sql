-- Thousands of trajectories read the same page, too far apart for a block of 1 MB to see the repeat. A block of results is now as
-- long as a granule, and compression looks back over all of it: half the bytes, in less time. Parts that exist take it when they merge.
alter table turns modify column tool_result String codec(ZSTD(3, 24)) settings (max_compress_block_size = 16777216);
