// Statements about the calls of one tool, which is bound as `tool`. `turns` is the table with a condition.

/** Spans of latency per octave; the first span has everything below its end. */
const SPANS_PER_OCTAVE = 2;
const LEAST_MS = 1;
const MOST_ERRORS = 50;
const MOST_SLOW = 20;
/** Characters of the arguments of a slow call. */
const HEAD = 500;

const OF_TOOL = 'tool = {tool:String}';
const SPAN = `toInt32(if(tool_ms < ${LEAST_MS}, -1, floor(${SPANS_PER_OCTAVE} * log2(tool_ms / ${LEAST_MS}))))`;
/** As in `tool_figures`, accurate to 1 %. */
const BUCKET = 'toInt32(if(tool_ms <= 0, -2000, round(log(tool_ms) / log(1.02))))';

/** Start of a span, ms. */
export const edgeOf = (span: number): number => (span < 0 ? 0 : LEAST_MS * 2 ** (span / SPANS_PER_OCTAVE));

export const totalSql = (turns: string): string => `
  select count() as calls, countIf(tool_status != 'ok') as failed, countIf(cache_hit) as cache_hits,
    quantile(0.5)(tool_ms) as ms_p50, quantile(0.95)(tool_ms) as ms_p95, quantile(0.99)(tool_ms) as ms_p99, max(tool_ms) as ms_max
  from ${turns} and ${OF_TOOL}`;

export const latencySql = (turns: string): string => `
  select ${SPAN} as span, count() as calls, countIf(tool_status != 'ok') as failed
  from ${turns} and ${OF_TOOL} and isFinite(tool_ms) group by span order by span`;

export const errorSql = (turns: string): string => `
  select tool_status as status, tool_error_type as error_type, count() as calls, quantile(0.5)(tool_ms) as ms_p50, max(occurred_at) as last_at
  from ${turns} and ${OF_TOOL} and tool_status != 'ok'
  group by status, error_type order by calls desc, status, error_type limit ${MOST_ERRORS}`;

const SLOW_COLUMNS = `trajectory_id, attempt, turn, worker_id, tool_status as status, tool_error_type as error_type, tool_ms as ms,
    substringUTF8(tool_arguments, 1, ${HEAD}) as arguments, occurred_at`;

/** Finds the slowest calls from a few small columns, then reads the texts of those only. */
export const slowSql = (turns: string): string => `
  select ${SLOW_COLUMNS}
  from turns where run_id = {run:String} and (trajectory_id, attempt, turn) in (
    select trajectory_id, attempt, turn from ${turns} and ${OF_TOOL} and isFinite(tool_ms)
    order by tool_ms desc, trajectory_id, attempt, turn limit 1 by trajectory_id, attempt, turn limit ${MOST_SLOW}
  ) and ${OF_TOOL}
  order by ms desc, trajectory_id, attempt, turn limit 1 by trajectory_id, attempt, turn limit ${MOST_SLOW}`;

/** Calls of all tools, by how they ended and how long they took. */
export const callCountsSql = (turns: string): string => `
  select toString(tool) as tool, tool_status as status, tool_error_type as error_type, isFinite(tool_ms) as is_timed, if(is_timed, ${SPAN}, 0) as span,
    if(is_timed, ${BUCKET}, 0) as bucket, count() as calls, countIf(cache_hit) as cache_hits, max(if(is_timed, tool_ms, 0)) as ms_max,
    max(occurred_at) as last_at
  from ${turns} and tool != '' group by tool, status, error_type, is_timed, span, bucket`;

/** The slowest calls of each tool, in any order. Calls that the log holds twice are returned twice; the limit leaves room for that. */
export const slowOfToolsSql = (turns: string): string => `
  select toString(tool) as tool, ${SLOW_COLUMNS}
  from turns where run_id = {run:String} and (trajectory_id, attempt, turn) in (
    select slow.2, slow.3, slow.4 from (
      select arrayJoin(groupArraySorted(${2 * MOST_SLOW})((-tool_ms, trajectory_id, attempt, turn))) as slow
      from ${turns} and tool != '' and isFinite(tool_ms) group by tool
    )
  ) and tool != '' and isFinite(tool_ms)`;

export const limits = { errors: MOST_ERRORS, slow: MOST_SLOW } as const;
