// Lists with one row per step, computed from the outcomes of that step. The steps of a page are found first, then only their outcomes are
// read, so a page costs the same wherever it is in a run of any length.
import type { Store } from '../../streams/core/ports.ts';
import type { ColumnKinds, RowOf } from './columns.ts';
import { columnsToRead } from './fields.ts';
import { paramsOf, readPage, readRows, type SqlCondition, type ListPage, type PageRequest } from './list.ts';

/** One row for each outcome of a trajectory: its run, its step, and the columns that a condition may name. */
export const stepsSql = `(
  select run_id, step, toBool((run_id, step) not in (select run_id, version from abandoned_versions)) as is_kept,
    if(is_kept, '', 'rewound') as reason
  from step_trajectories
  union all
  select run_id, toInt32(version + 1) as step, false as is_kept, reason from discarded_trajectories
)`;

export interface StepsRequest extends PageRequest {
  readonly where: readonly SqlCondition[];
}

/** The steps of a page, in order; `steps` is a table or subquery that contains them. */
export async function readStepsOfPage(store: Store, steps: string, request: StepsRequest): Promise<ListPage<{ readonly step: number }>> {
  const { limit, cursor, where } = request;
  return readPage(
    store,
    {
      from: `(select distinct step from ${steps} where ${where.map(({ sql }) => sql).join(' and ')})`,
      columns: { step: 'whole' },
      key: { step: 'Int32' },
      direction: 'asc',
    },
    { limit, cursor, where: [{ sql: '1', params: paramsOf(where) }] },
  );
}

interface OfSteps<C extends ColumnKinds> {
  /**
   * A view, or a subquery that may use the parameters of the conditions and the first and last step of the page: `page_first`, `page_last`.
   */
  readonly from: string;
  readonly steps: string;
  readonly columns: C;
}

/** One page of a list with one row for each of `steps`. */
export async function readPageOfSteps<C extends ColumnKinds>(
  store: Store,
  { from, steps, columns }: OfSteps<C>,
  request: StepsRequest,
): Promise<ListPage<RowOf<C>>> {
  const { items, next_cursor } = await readStepsOfPage(store, steps, request);
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return { items: [], next_cursor };
  const where = [...request.where.map(({ sql }) => sql), 'step >= {page_first:Int32}', 'step <= {page_last:Int32}'].join(' and ');
  const rows = await readRows<RowOf<C>>(
    store,
    `select ${columnsToRead(request.fields, columns).join(', ')} from ${from} where ${where} order by step`,
    { ...paramsOf(request.where), page_first: first.step, page_last: last.step },
  );
  return { items: rows, next_cursor };
}
