// Lists turns and tool calls. The run is always part of the condition, because the tables are sorted by run and trajectory; a page in the
// middle of a trajectory then reads only the rows around it.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import {
  compare,
  contains,
  equals,
  keyAt,
  readPage,
  readRows,
  type ListSpec,
  type ListPage,
  type PageRequest,
  type SqlCondition,
} from '../list.ts';
import { resultHolds } from './result-search.ts';
import { heavyToolCallColumns, heavyTurnColumns, toolCallColumns, turnColumns } from './rollouts.columns.ts';

interface TurnFilter {
  readonly run?: string | undefined;
  readonly attempt?: number | undefined;
  readonly min_turn?: number | undefined;
  readonly max_turn?: number | undefined;
  readonly tool?: string | undefined;
  readonly tool_status?: string | undefined;
  readonly error_type?: string | undefined;
}

const turnKey = { run_id: 'String', attempt: 'Int32', turn: 'Int32' } as const;

/** Turns sorted by attempt and turn. Without a run, the first run that requested the trajectory is used. */
export async function listTurns(
  store: Store,
  trajectory: string,
  request: PageRequest & TurnFilter,
): Promise<ListPage<RowOf<typeof turnColumns>>> {
  const where = [
    ...equals('run_id', 'String', request.run ?? runOfCursor(request.cursor) ?? (await runOf(store, trajectory))),
    ...equals('trajectory_id', 'String', trajectory),
    ...equals('attempt', 'Int32', request.attempt),
    ...compare('turn', { sign: '>=', type: 'Int32' }, request.min_turn),
    ...compare('turn', { sign: '<=', type: 'Int32' }, request.max_turn),
    ...equals('tool', 'String', request.tool),
    ...equals('tool_status', 'String', request.tool_status),
    ...equals('tool_error_type', 'String', request.error_type),
  ];
  return readPage(
    store,
    { from: 'turns', columns: turnColumns, heavy: heavyTurnColumns, key: turnKey, direction: 'asc' },
    { ...request, where },
  );
}

/** A cursor of a list of turns starts with the run. */
const runOfCursor = (cursor: string | undefined): string | undefined =>
  cursor === undefined ? undefined : String(keyAt(turnKey, cursor)[0]);

/** The first run that has events of the trajectory; empty if none has. */
export async function runOf(store: Store, trajectory: string): Promise<string> {
  const parts = ['tasks', 'trajectories', 'turns'].map(
    (table, rank) =>
      `select ${rank} as rank, run_id, _timestamp from ${table} where trajectory_id = {trajectory:String} order by _timestamp limit 1`,
  );
  const rows = await readRows<{ run_id: string }>(
    store,
    `select run_id from (${parts.map((part) => `select * from (${part})`).join(' union all ')}) order by rank limit 1`,
    { trajectory },
  );
  return rows[0]?.run_id ?? '';
}

export interface ToolCallFilter {
  readonly trajectory?: string | undefined;
  readonly group?: string | undefined;
  readonly min_turn?: number | undefined;
  readonly max_turn?: number | undefined;
  readonly purpose?: string | undefined;
  readonly worker?: string | undefined;
  readonly tool?: string | undefined;
  readonly tool_status?: string | undefined;
  readonly error_type?: string | undefined;
  readonly min_ms?: number | undefined;
  readonly max_ms?: number | undefined;
  /** Calls of turns that this version or a newer one decided. */
  readonly min_version?: number | undefined;
  readonly max_version?: number | undefined;
  /** Part of the arguments. */
  readonly arguments?: string | undefined;
  /** Part of the result. */
  readonly result?: string | undefined;
}

/**
 * The columns of the view `tool_calls`, read from `turns` in its sort order. Keys come first, so that for the granules around a page, only
 * the columns of the key and of the filters are read.
 */
const toolCalls = {
  from: `(
    select run_id, group_id, trajectory_id, attempt, turn, purpose, worker_id, call_id, tool, tool_status as status,
      tool_error_type as error_type, tool_started_at as started_at, tool_ms as ms, tool_arguments as arguments, tool_result as result,
      tool_result_head as result_head, tool_result_chars as result_chars, tool_result_sha256 as result_sha256, tool_item_urls as item_urls,
      tool_item_titles as item_titles, truncated, cache_hit, policy_version_min, policy_version_max, occurred_at
    from turns
    where tool != ''
  )`,
  columns: toolCallColumns,
  heavy: heavyToolCallColumns,
  key: { trajectory_id: 'String', attempt: 'Int32', turn: 'Int32' },
  direction: 'asc',
  keysFirst: ['trajectory_id', 'attempt', 'turn'],
} as const satisfies ListSpec<typeof toolCallColumns>;

/** The id of a trajectory starts with that of its group, so the primary index finds a group. */
function ofGroup(group: string | undefined): readonly SqlCondition[] {
  if (group === undefined) return [];
  const start = { sql: 'startsWith(trajectory_id, {group_start:String})', params: { group_start: `${group}.` } };
  return [start, ...equals('group_id', 'String', group)];
}

/** Tool calls of a run in order of trajectory, attempt and turn. */
export async function listToolCalls(
  store: Store,
  run: string,
  request: PageRequest & ToolCallFilter,
): Promise<ListPage<RowOf<typeof toolCallColumns>>> {
  const where = [
    ...equals('run_id', 'String', run),
    ...equals('trajectory_id', 'String', request.trajectory),
    ...ofGroup(request.group),
    ...compare('turn', { sign: '>=', type: 'Int32' }, request.min_turn),
    ...compare('turn', { sign: '<=', type: 'Int32' }, request.max_turn),
    ...equals('purpose', 'String', request.purpose),
    ...equals('worker_id', 'String', request.worker),
    ...equals('tool', 'String', request.tool),
    ...equals('status', 'String', request.tool_status),
    ...equals('error_type', 'String', request.error_type),
    ...compare('ms', { sign: '>=', type: 'Float64' }, request.min_ms),
    ...compare('ms', { sign: '<=', type: 'Float64' }, request.max_ms),
    ...compare('policy_version_max', { sign: '>=', type: 'Int32' }, request.min_version),
    ...compare('policy_version_min', { sign: '<=', type: 'Int32' }, request.max_version),
    ...contains('arguments', request.arguments),
    ...(request.result === undefined ? [] : [await resultHolds(store, run, request.result)]),
  ];
  const { limit, cursor, fields, ...filters } = request;
  // few calls have a result with the text, and their granules are not worth reading twice
  const spec = request.result === undefined ? toolCalls : { ...toolCalls, keysFirst: undefined };
  return readPage(store, spec, { limit, cursor, fields, where, identity: [run, filters] });
}
