import type { Store } from '../../../streams/core/ports.ts';
import { selectList, type RowOf } from '../columns.ts';
import { compare, equals, readPage, readRows, type Page, type PageRequest } from '../list.ts';
import type { RunPart } from '../reports/reports.reader.ts';
import type { Purpose } from '../values.ts';
import { policyColumns, runColumns, stalenessColumns, toolColumns, type toolErrorColumns } from './runs.columns.ts';

type Run = RowOf<typeof runColumns>;

const neverBefore = "toDateTime64('1971-01-01 00:00:00', 6, 'UTC')";

/** Times that have not come yet are null, which the view gives as the epoch. */
const fromRuns = `(
  select * except (finished_at, last_step_at),
    if(runs.finished_at < ${neverBefore}, null, runs.finished_at) as finished_at,
    if(runs.last_step_at < ${neverBefore}, null, runs.last_step_at) as last_step_at
  from runs
)`;

/** Newest first. */
export async function listRuns(
  store: Store,
  request: PageRequest & { readonly status?: string | undefined; readonly purpose?: Purpose | undefined },
): Promise<Page<Run>> {
  const { purpose } = request;
  const having = purpose === undefined ? [] : [{ sql: 'has(purposes, {purpose:String})', params: { purpose } }];
  return readPage(
    store,
    { from: fromRuns, columns: runColumns, key: { started_at: 'time', run_id: 'String' }, direction: 'desc' },
    { ...request, where: [...equals('status', 'String', request.status), ...having] },
  );
}

export async function findRun(store: Store, run: string): Promise<Run | undefined> {
  const rows = await readRows<Run>(store, `select ${selectList(runColumns)} from ${fromRuns} where run_id = {run:String}`, { run });
  return rows[0];
}

/** What was trained and what was discarded, for each step, from the first on. */
export async function listStaleness(
  store: Store,
  run: string,
  request: PageRequest & { readonly from_step?: number | undefined; readonly to_step?: number | undefined },
): Promise<Page<RowOf<typeof stalenessColumns>>> {
  return readPage(
    store,
    { from: 'staleness_by_step', columns: stalenessColumns, key: { step: 'Int32' }, direction: 'asc' },
    { ...request, where: [...equals('run_id', 'String', run), ...stepsBetween(request)] },
  );
}

/** Newest version first. */
export async function listPolicies(store: Store, run: string, request: PageRequest): Promise<Page<RowOf<typeof policyColumns>>> {
  return readPage(
    store,
    { from: 'policies', columns: policyColumns, key: { version: 'Int32' }, direction: 'desc' },
    { ...request, where: equals('run_id', 'String', run) },
  );
}

export interface ToolReport {
  readonly items: readonly RowOf<typeof toolColumns>[];
  /** Failures by tool and error type, most frequent first. */
  readonly error_types: readonly RowOf<typeof toolErrorColumns>[];
}

/** What the view `tool_health` says, of the calls of one run and of one purpose when that is named. */
const calls = (more = ''): string => `from (
    select * from turns
    where run_id = {run:String} and tool != '' and ({purpose:String} = '' or purpose = {purpose:String})${more}
    order by trajectory_id, attempt, turn limit 1 by trajectory_id, attempt, turn
  )`;
const HEALTH = `select run_id, tool, count() as calls, countIf(tool_status = 'ok') as ok, countIf(tool_status = 'error') as errors,
    countIf(tool_status = 'timeout') as timeouts, countIf(tool_status = 'refused') as refused, (calls - ok) / calls as failure_rate,
    countIf(cache_hit) as cache_hits, countIf(truncated) as truncated_results, avg(tool_ms) as ms_mean,
    quantile(0.5)(tool_ms) as ms_p50, quantile(0.95)(tool_ms) as ms_p95, quantile(0.99)(tool_ms) as ms_p99, max(tool_ms) as ms_max,
    avg(tool_result_chars) as result_chars_mean, min(occurred_at) as first_at, max(occurred_at) as last_at
  ${calls()}
  group by run_id, tool`;

export async function readTools(store: Store, part: RunPart): Promise<ToolReport> {
  const params = { run: part.run, purpose: part.purpose ?? '' };
  const [items, errorTypes] = await Promise.all([
    readRows<RowOf<typeof toolColumns>>(store, `select ${selectList(toolColumns)} from (${HEALTH}) order by calls desc, tool`, params),
    readRows<RowOf<typeof toolErrorColumns>>(
      store,
      `select tool, tool_error_type as error_type, tool_status as status, count() as calls, max(occurred_at) as last_at
       ${calls(" and tool_status != 'ok'")}
       group by tool, error_type, status order by calls desc, tool, error_type, status limit 200`,
      params,
    ),
  ]);
  return { items, error_types: errorTypes };
}

/** Conditions on the column `step`. */
export const stepsBetween = (range: { readonly from_step?: number | undefined; readonly to_step?: number | undefined }) => [
  ...compare('step', { sign: '>=', type: 'Int32' }, range.from_step),
  ...compare('step', { sign: '<=', type: 'Int32' }, range.to_step),
];
