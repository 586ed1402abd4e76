// Tool calls in blocks of policy versions. The warehouse stores figures of blocks that no longer grow in `tool_figures`; the API computes
// the others. A stored block is valid as long as it covers as many turns as the block has now, so a late turn is never missing: its block
// is computed again.

/** Versions per block. */
export const BLOCK_VERSIONS = 16;

const BLOCK = `toInt32(if(policy_version_max < 0, -1, intDiv(policy_version_max, ${BLOCK_VERSIONS})))`;

/** Turns in each block of `run`, including those without a tool call. */
export const toolBlocksSql = `select ${BLOCK} as block, count() as turns from turns where run_id = {run:String} group by block order by block`;

/** Turns in each block of every run with at least `least` turns, and the run's newest block. */
export const allToolBlocksSql = `
  select run_id, block, turns, newest
  from (
    select run_id, block, turns, max(block) over (partition by run_id) as newest, sum(turns) over (partition by run_id) as of_run
    from (select run_id, ${BLOCK} as block, count() as turns from turns group by run_id, block)
  )
  where of_run >= {least:Int64}`;

/** The bucket of a latency, accurate to 1 %. */
const BUCKET = 'toInt16(if(tool_ms <= 0, -2000, round(log(tool_ms) / log(1.02))))';

/** The latency that a bucket represents, ms. */
export const msOfBucket = (bucket: number): number => (bucket <= -2_000 ? 0 : 1.02 ** bucket);

/**
 * Figures of the calls of `run` in `blocks`, by block, purpose, tool, status, error type and whether version `step` or a later one made the
 * decision. A turn that the log holds twice counts once.
 */
export const toolFiguresSql = `
  select
    block,
    since,
    purpose,
    tool,
    status,
    error_type,
    sum(n) as calls,
    sum(hits) as cache_hits,
    sum(cut) as truncated_results,
    sum(ms) as ms_sum,
    max(most) as ms_max,
    groupArray(bucket) as ms_buckets,
    groupArray(toInt64(n)) as ms_calls,
    sum(chars) as result_chars_sum,
    argMax(slowest, most) as slowest_arguments,
    min(first) as first_at,
    max(last) as last_at
  from (
    select
      ${BLOCK} as block,
      policy_version_max >= {step:Int32} as since,
      purpose,
      tool,
      tool_status as status,
      tool_error_type as error_type,
      ${BUCKET} as bucket,
      count() as n,
      countIf(cache_hit) as hits,
      countIf(truncated) as cut,
      sum(tool_ms) as ms,
      max(tool_ms) as most,
      sum(toInt64(tool_result_chars)) as chars,
      argMax(tool_arguments, tool_ms) as slowest,
      min(occurred_at) as first,
      max(occurred_at) as last
    from (
      select policy_version_max, purpose, tool, tool_status, tool_error_type, cache_hit, truncated, tool_ms, tool_result_chars, tool_arguments, occurred_at
      from turns
      where run_id = {run:String} and tool != '' and policy_version_max >= {first_version:Int32}
        and policy_version_max <= {last_version:Int32} and has({blocks:Array(Int32)}, ${BLOCK})
      limit 1 by trajectory_id, attempt, turn
    )
    group by block, since, purpose, tool, status, error_type, bucket
  )
  group by block, since, purpose, tool, status, error_type`;

export const toolFigureParams = (run: string, blocks: readonly number[], step: number): Readonly<Record<string, unknown>> => ({
  run,
  step,
  blocks,
  first_version: Math.min(...blocks) < 0 ? -2_147_483_648 : Math.min(...blocks) * BLOCK_VERSIONS,
  last_version: Math.max(...blocks) < 0 ? -1 : (Math.max(...blocks) + 1) * BLOCK_VERSIONS - 1,
});
