// One tool of a run: how its latencies are distributed, how its calls failed, and the slowest of them.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';

export const latencyColumns = { from_ms: 'number', to_ms: 'number', calls: 'whole', failed: 'whole' } as const;

export const slowCallColumns = {
  trajectory_id: 'text',
  attempt: 'whole',
  turn: 'whole',
  worker_id: 'text',
  status: 'text',
  error_type: 'text',
  ms: 'number',
  arguments: 'text',
  occurred_at: 'time',
} as const;

export const toolErrorTypeColumns = { status: 'text', error_type: 'text', calls: 'whole', ms_p50: 'number', last_at: 'time' } as const;

export interface OneTool {
  readonly run_id: string;
  readonly tool: string;
  readonly calls: number;
  readonly failed: number;
  readonly cache_hits: number;
  readonly ms_p50: number | null;
  readonly ms_p95: number | null;
  readonly ms_p99: number | null;
  readonly ms_max: number | null;
  readonly latencies: readonly RowOf<typeof latencyColumns>[];
  readonly error_types: readonly RowOf<typeof toolErrorTypeColumns>[];
  readonly slowest: readonly RowOf<typeof slowCallColumns>[];
}

/** Spans of latency an octave; the first has what took less than its end. */
const SPANS_AN_OCTAVE = 2;
const LEAST_MS = 1;
const MOST_ERRORS = 50;
const MOST_SLOW = 20;
/** Characters of the arguments of a slow call. */
const HEAD = 500;

const ofTool = 'run_id = {run:String} and tool = {tool:String}';
const span = `toInt32(if(tool_ms < ${LEAST_MS}, -1, floor(${SPANS_AN_OCTAVE} * log2(tool_ms / ${LEAST_MS}))))`;

const totalSql = `select count() as calls, countIf(tool_status != 'ok') as failed, countIf(cache_hit) as cache_hits,
  quantile(0.5)(tool_ms) as ms_p50, quantile(0.95)(tool_ms) as ms_p95, quantile(0.99)(tool_ms) as ms_p99, max(tool_ms) as ms_max
  from turns where ${ofTool}`;

const latencySql = `select ${span} as span, count() as calls, countIf(tool_status != 'ok') as failed
  from turns where ${ofTool} and isFinite(tool_ms) group by span order by span`;

const errorSql = `select tool_status as status, tool_error_type as error_type, count() as calls, quantile(0.5)(tool_ms) as ms_p50,
  max(occurred_at) as last_at from turns where ${ofTool} and tool_status != 'ok'
  group by status, error_type order by calls desc, status, error_type limit ${MOST_ERRORS}`;

/** Places first, from two small columns; texts of those alone. */
const slowSql = `select trajectory_id, attempt, turn, worker_id, tool_status as status, tool_error_type as error_type, tool_ms as ms,
  substringUTF8(tool_arguments, 1, ${HEAD}) as arguments, occurred_at
  from turns where run_id = {run:String} and (trajectory_id, attempt, turn) in (
    select trajectory_id, attempt, turn from turns where ${ofTool} and isFinite(tool_ms)
    order by tool_ms desc, trajectory_id, attempt, turn limit ${MOST_SLOW}
  ) and tool = {tool:String}
  order by ms desc, trajectory_id, attempt, turn limit 1 by trajectory_id, attempt, turn limit ${MOST_SLOW}`;

const edge = (at: number): number => (at < 0 ? 0 : LEAST_MS * 2 ** (at / SPANS_AN_OCTAVE));

export async function readTool(store: Store, run: string, tool: string): Promise<OneTool> {
  const params = { run, tool };
  const [[total], spans, errors, slowest] = await Promise.all([
    readRows<Omit<OneTool, 'run_id' | 'tool' | 'latencies' | 'error_types' | 'slowest'>>(store, totalSql, params),
    readRows<{ span: number; calls: number; failed: number }>(store, latencySql, params),
    readRows<RowOf<typeof toolErrorTypeColumns>>(store, errorSql, params),
    readRows<RowOf<typeof slowCallColumns>>(store, slowSql, params),
  ]);
  const none = { calls: 0, failed: 0, cache_hits: 0, ms_p50: null, ms_p95: null, ms_p99: null, ms_max: null };
  const latencies = spans.map(({ span: at, ...counts }) => ({ from_ms: edge(at), to_ms: edge(at + 1), ...counts }));
  return { run_id: run, tool, ...none, ...total, latencies, error_types: errors, slowest };
}
