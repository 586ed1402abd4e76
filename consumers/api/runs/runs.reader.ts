import type { Store } from '../../../streams/core/ports.ts';
import { selectList, type RowOf } from '../columns.ts';
import { readPageOfSteps, stepsSql } from '../list-of-steps.ts';
import { columnsToRead } from '../fields.ts';
import { compare, equals, readPage, readRows, type ListPage, type PageRequest } from '../list.ts';
import type { Purpose } from '../values.ts';
import { policyColumns, runColumns, stalenessColumns, type sparkColumns } from './runs.columns.ts';

type RunRow = RowOf<typeof runColumns>;
type RunSpark = RowOf<typeof sparkColumns>;

const SPARK_POINTS = 60;

/** The mean reward of each run in at most 60 equal parts of its steps: the last of each part. */
const sparksSql = `
  select toString(run_id) as run_id, groupArray(last) as spark from (
    select run_id, intDiv(step * ${SPARK_POINTS}, transform(toString(run_id), {runs:Array(String)}, {steps:Array(Int64)}, toInt64(0)) + 1) as part,
      argMax(reward_mean, step) as last
    from steps where run_id in {runs:Array(String)} group by run_id, part order by run_id, part
  ) group by run_id`;

async function readSparks(store: Store, runs: readonly RunRow[]): Promise<ReadonlyMap<string, RunSpark['reward_spark']>> {
  if (runs.length === 0) return new Map();
  const rows = await readRows<{ run_id: string; spark: RunSpark['reward_spark'] }>(store, sparksSql, {
    runs: runs.map(({ run_id }) => run_id),
    steps: runs.map(({ steps }) => steps),
  });
  return new Map(rows.map(({ run_id, spark }) => [run_id, spark]));
}

const neverBefore = "toDateTime64('1971-01-01 00:00:00', 6, 'UTC')";

/** The view returns the epoch for times that have not come yet; this makes them null. */
const fromRuns = `(
  select * except (finished_at, last_step_at),
    if(runs.finished_at < ${neverBefore}, null, runs.finished_at) as finished_at,
    if(runs.last_step_at < ${neverBefore}, null, runs.last_step_at) as last_step_at
  from run_overviews as runs
)`;

const overviewColumns = Object.fromEntries(Object.entries(runColumns).filter(([name]) => name !== 'discarded')) as Omit<
  typeof runColumns,
  'discarded'
>;

/** Discarded trajectories by run. Counting them takes a while, so it is done while the rest is read. */
async function readDiscarded(store: Store, run?: string): Promise<ReadonlyMap<string, number>> {
  const [clause] = equals('run_id', 'String', run);
  const rows = await readRows<Pick<RunRow, 'run_id' | 'discarded'>>(
    store,
    `select run_id, discarded from run_discards ${clause === undefined ? '' : `where ${clause.sql}`}`,
    clause?.params,
  );
  return new Map(rows.map(({ run_id, discarded }) => [run_id, discarded]));
}

/** Some columns of a run, in the order of `fields`. */
const runOf = (overview: RowOf<typeof overviewColumns>, fields: readonly string[], discarded: ReadonlyMap<string, number>): RunRow => {
  const all: RunRow = { ...overview, discarded: discarded.get(overview.run_id) ?? 0 };
  return Object.fromEntries(fields.map((name) => [name, all[name as keyof RunRow]])) as RunRow;
};

/** Newest first. */
export async function listRuns(
  store: Store,
  request: PageRequest & { readonly status?: string | undefined; readonly purpose?: Purpose | undefined },
): Promise<ListPage<RunRow & Partial<RunSpark>>> {
  const { fields } = request;
  if (fields?.includes('reward_spark') !== true) return listOwn(store, request);
  const named = fields.filter((name) => name !== 'reward_spark');
  const page = await listOwn(store, { ...request, fields: named.length === 0 ? undefined : [...named, 'run_id', 'steps'] });
  const sparks = await readSparks(store, page.items);
  return { ...page, items: page.items.map((row) => ({ ...row, reward_spark: sparks.get(row.run_id) ?? [] })) };
}

async function listOwn(
  store: Store,
  request: PageRequest & { readonly status?: string | undefined; readonly purpose?: Purpose | undefined },
): Promise<ListPage<RunRow>> {
  const { purpose } = request;
  const fields = columnsToRead(request.fields, runColumns);
  const having = purpose === undefined ? [] : [{ sql: 'has(purposes, {purpose:String})', params: { purpose } }];
  const count = async (): Promise<ReadonlyMap<string, number>> => (fields.includes('discarded') ? readDiscarded(store) : new Map());
  // a cursor may be refused, and then nothing should be counted
  const [page, counted] = await Promise.all([
    readPage(
      store,
      { from: fromRuns, columns: overviewColumns, key: { started_at: 'time', run_id: 'String' }, direction: 'desc' },
      {
        ...request,
        fields: [...new Set([...fields.filter((name) => name !== 'discarded'), 'run_id'])],
        where: [...equals('status', 'String', request.status), ...having],
      },
    ),
    request.cursor === undefined ? count() : undefined,
  ]);
  const discarded = counted ?? (await count());
  return { ...page, items: page.items.map((row) => runOf(row, fields, discarded)) };
}

export async function findRun(store: Store, run: string): Promise<RunRow | undefined> {
  const sql = `select ${selectList(overviewColumns)} from ${fromRuns} where run_id = {run:String}`;
  const [rows, discarded] = await Promise.all([readRows<RowOf<typeof overviewColumns>>(store, sql, { run }), readDiscarded(store, run)]);
  return rows.map((row) => runOf(row, Object.keys(runColumns), discarded))[0];
}

/** Trained and discarded trajectories of each step, from the first on. */
export async function listStaleness(
  store: Store,
  run: string,
  request: PageRequest & { readonly from_step?: number | undefined; readonly to_step?: number | undefined },
): Promise<ListPage<RowOf<typeof stalenessColumns>>> {
  return readPageOfSteps(
    store,
    { from: 'staleness_by_step', steps: stepsSql, columns: stalenessColumns },
    { ...request, where: [...equals('run_id', 'String', run), ...stepsBetween(request)] },
  );
}

/** Newest version first, and of a version its newest publication. */
export async function listPolicies(store: Store, run: string, request: PageRequest): Promise<ListPage<RowOf<typeof policyColumns>>> {
  return readPage(
    store,
    { from: 'policies', columns: policyColumns, key: { version: 'Int32', occurred_at: 'time' }, direction: 'desc' },
    { ...request, where: equals('run_id', 'String', run) },
  );
}

/** Conditions on the column `step`. */
export const stepsBetween = (range: { readonly from_step?: number | undefined; readonly to_step?: number | undefined }) => [
  ...compare('step', { sign: '>=', type: 'Int32' }, range.from_step),
  ...compare('step', { sign: '<=', type: 'Int32' }, range.to_step),
];
