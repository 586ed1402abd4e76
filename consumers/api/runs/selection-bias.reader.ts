// A page reads the outcomes of its own steps. The figures of the whole range, returned with every page, are kept up to date.
import type { Store } from '../../../streams/core/ports.ts';
import type { DiscardReason } from '../../../streams/batch/batch.ts';
import type { RowOf } from '../columns.ts';
import { readStepsOfPage, stepsSql } from '../list-of-steps.ts';
import { compare, equals, paramsOf, readRows, type SqlCondition, type ListPage, type PageRequest } from '../list.ts';
import type { biasColumns } from './selection-bias.columns.ts';
import { readRangeFigures } from './selection-bias.figures.ts';
import { bySteps, measured } from './selection-bias.sql.ts';
import type { RangeFigures } from './selection-bias.tally.ts';

interface BiasRequest extends PageRequest {
  readonly from_step?: number | undefined;
  readonly to_step?: number | undefined;
  /** Compares only discards with this reason. */
  readonly reason?: DiscardReason | undefined;
}

type SelectionBias = ListPage<RowOf<typeof biasColumns>> & RangeFigures;

/** The selected outcomes. */
interface OutcomeFilter {
  readonly where: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const textOf = (clauses: readonly SqlCondition[]): string => clauses.map(({ sql }) => sql).join(' and ');

export async function readSelectionBias(store: Store, run: string, request: BiasRequest): Promise<SelectionBias> {
  const clauses = [
    ...equals('run_id', 'String', run),
    ...compare('step', { sign: '>=', type: 'Int32' }, request.from_step),
    ...compare('step', { sign: '<=', type: 'Int32' }, request.to_step),
    ...equals('reason', 'String', request.reason).map(({ sql, params }) => ({ sql: `(is_kept or ${sql})`, params })),
  ];
  const asked = { where: textOf(clauses), params: paramsOf(clauses) };
  const { from_step, to_step, reason } = request;
  const [page, figures] = await Promise.all([
    readSteps(store, asked, request),
    readRangeFigures(store, { run, from_step, to_step, reason }),
  ]);
  return { ...page, ...figures };
}

/** The steps of the page, then only their outcomes. */
async function readSteps(store: Store, asked: OutcomeFilter, request: PageRequest): Promise<ListPage<RowOf<typeof biasColumns>>> {
  const { items, next_cursor } = await readStepsOfPage(store, stepsSql, {
    ...request,
    where: [{ sql: asked.where, params: asked.params }],
  });
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return { items: [], next_cursor };
  const rows = await readRows<RowOf<typeof biasColumns>>(
    store,
    bySteps(`select step, is_kept, ${measured} from (${pageOutcomes}) where ${asked.where}`),
    { ...asked.params, page_first: first.step, page_last: last.step },
  );
  return { items: rows, next_cursor };
}

/**
 * The view `outcomes` for the steps of a page. A repeated event has the same step, so the rows of the page alone show which are repeats;
 * the views of repeated rows would read the whole run.
 */
const pageOutcomes = `
  select run_id, step, toBool(step not in (select version from abandoned_versions where run_id = {run_id_is:String})) as is_kept,
    if(is_kept, '', 'rewound') as reason, ${measured}
  from (
    select *, min((_partition, _offset)) over (partition by step) as place
    from step_trajectories where run_id = {run_id_is:String} and step between {page_first:Int32} and {page_last:Int32}
  )
  where (_partition, _offset) = place
  union all
  select run_id, toInt32(version + 1) as step, false as is_kept, toString(reason) as reason, ${measured}
  from (
    select * from discarded_trajectories
    where run_id = {run_id_is:String} and version >= {page_first:Int32} - 1 and version < {page_last:Int32}
    order by _partition, _offset limit 1 by trajectory_id, attempt, sequence
  )`;
