import { isPlatformError, messageOf, PlatformError } from '../../../streams/core/errors.ts';

/** Limits of one query, from the configuration. */
export interface SqlLimits {
  readonly maxSeconds: number;
  readonly maxRows: number;
  readonly maxResultBytes: number;
  readonly maxMemoryBytes: number;
  /** Concurrent queries. */
  readonly concurrency: number;
  /** How long a query waits for a slot before it fails with RATE_LIMITED. */
  readonly maxWaitMs: number;
}

/** Longer statements are refused before they are parsed. */
export const MAX_QUERY_CHARS = 100_000;

/**
 * Settings that the engine enforces while the query runs; exceeding one is an error, never a truncated result. A query that runs alone may
 * use two threads: the same as two concurrent queries, which the sink can tolerate.
 */
export function settingsOf(limits: SqlLimits, alone: boolean): Readonly<Record<string, string | number>> {
  return {
    readonly: 1,
    wait_end_of_query: 1,
    max_threads: alone ? 2 : 1,
    priority: 10,
    max_execution_time: limits.maxSeconds,
    timeout_overflow_mode: 'throw',
    max_result_rows: limits.maxRows,
    max_result_bytes: limits.maxResultBytes,
    result_overflow_mode: 'throw',
    max_memory_usage: limits.maxMemoryBytes,
    max_rows_to_read: 20_000_000_000,
    max_bytes_to_read: 2_000_000_000_000,
    read_overflow_mode: 'throw',
    max_subquery_depth: 50,
    max_ast_depth: 500,
    max_ast_elements: 20_000,
    max_expanded_ast_elements: 100_000,
    max_recursive_cte_evaluation_depth: 1_000,
    max_columns_to_read: 2_000,
    output_format_json_quote_64bit_integers: 0,
    output_format_json_quote_denormals: 0,
    date_time_output_format: 'iso',
  };
}

const LIMIT_CODES: Readonly<Record<number, string>> = {
  158: 'rows',
  159: 'time',
  160: 'time',
  161: 'columns',
  162: 'nesting',
  167: 'nesting',
  168: 'size',
  191: 'rows of a set',
  209: 'time',
  241: 'memory',
  290: 'rows',
  306: 'nesting',
  307: 'bytes',
  394: 'time',
  396: 'rows or bytes of the result',
};
const BUSY_CODE = 202;

/** Converts an engine error caused by a user's statement into a user error; returns all other errors unchanged. */
export function userErrorOf(error: unknown): unknown {
  if (!isPlatformError(error)) return error;
  const code = Number(error.context['clickhouseCode'] ?? NaN);
  const said = wordsOf(error);
  if (said.includes('Multi-statements are not allowed')) {
    return new PlatformError('SQL_REFUSED', 'checking the query: a second statement is refused here; send one SELECT', { cause: error });
  }
  if (code === BUSY_CODE) {
    return new PlatformError('RATE_LIMITED', 'running the query: ClickHouse runs too many queries; try again soon', { cause: error });
  }
  const limit = LIMIT_CODES[code];
  if (limit !== undefined) {
    const message = `running the query: it reached its limit of ${limit}; narrow it or aggregate. ClickHouse says: ${said}`;
    return new PlatformError('SQL_LIMIT', message, { cause: error });
  }
  if (error.code !== 'STORE_REFUSED') return error;
  const advice = ADVICE[code];
  const message = `running the query: ClickHouse says: ${said}${advice === undefined ? '' : ` (${advice})`}`;
  return new PlatformError('SQL_INVALID', message, { cause: error });
}

const TABLES = 'GET /v1/sql/tables, or \\d at the prompt of turnstream sql, lists the tables and their columns';

/** Advice for engine errors whose own message does not say what to do. */
const ADVICE: Readonly<Record<number, string>> = {
  16: TABLES,
  47: TABLES,
  60: TABLES,
  81: TABLES,
  164: 'only SELECTs are run: send one',
  456: 'give a value in params of POST /v1/sql, or by --param of turnstream sql',
  457: 'the value in params does not fit the type after the colon',
};

/** ClickHouse's message without its address and version, and without our statement around the user's. */
function wordsOf(error: PlatformError): string {
  const text = error.cause === undefined ? error.message : messageOf(error.cause);
  return text
    .replace(/\s*\(version [^)]*\)/, '')
    .replace(/ Expected one of: .{300,}$/s, '')
    .replace(/:\s*(?:In scope|While processing) SELECT formatQuerySingleLine\(.*$/s, '')
    .trim()
    .slice(0, 2_000);
}
