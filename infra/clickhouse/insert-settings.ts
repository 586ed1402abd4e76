// Explicit settings for every insert, so that servers of different versions behave alike: synchronous, acknowledged when the rows are
// stored, in one block, with a deduplication token that also covers the views behind a table.

export type StatementSettings = Readonly<Record<string, string | number>>;

/** Settings that only some versions support. */
export const versionedSettings = ['deduplicate_insert', 'deduplicate_blocks_in_dependent_materialized_views', 'async_insert'] as const;

const always: StatementSettings = {
  insert_deduplicate: 1,
  wait_end_of_query: 1,
  date_time_input_format: 'best_effort',
  input_format_null_as_default: 1,
  // One block of up to a million rows of any size, so that a batch is stored completely or not at all.
  max_insert_block_size: 1_048_449,
  min_insert_block_size_rows: 1_048_449,
  min_insert_block_size_bytes: 0,
  // Producers choose the timestamps of their records: a batch may span any number of months.
  max_partitions_per_insert_block: 0,
};

const whenKnown: Readonly<Record<(typeof versionedSettings)[number], string | number>> = {
  deduplicate_insert: 'enable',
  deduplicate_blocks_in_dependent_materialized_views: 1,
  async_insert: 0,
};

export const insertSettings = (token: string, known: ReadonlySet<string>): StatementSettings => ({
  ...always,
  ...Object.fromEntries(Object.entries(whenKnown).filter(([name]) => known.has(name))),
  insert_deduplication_token: token,
});
