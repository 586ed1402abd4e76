// What the tools of a run did. Of a small run it is asked of the turns; of a large one, of which the warehouse keeps blocks, only
// the blocks that are not kept are. Percentiles of a large run are those of buckets, within 1 %.
import { BLOCK_VERSIONS, toolBlocksSql, toolFigureParams, toolFiguresSql } from '../../common/tool-figures.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { selectList, type RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import { readToolChanges } from '../reports/reports.reader.ts';
import { toolColumns, type toolErrorColumns } from './runs.columns.ts';
import { reportOf, type ToolFigures, type ToolReport } from './tool-figures.ts';

const MOST_ERROR_TYPES = 200;

/** With `step` also what changed since then. */
export async function readTools(store: Store, run: string, step?: number): Promise<ToolReport> {
  const [kept, blocks] = await Promise.all([
    readRows<Block>(store, 'select distinct block, turns from tool_figures where run_id = {run:String}', { run }),
    readRows<Block>(store, toolBlocksSql, { run }),
  ]);
  return kept.length === 0 ? readSmall(store, run, step) : readLarge(store, { run, blocks, kept }, step);
}

async function readSmall(store: Store, run: string, step: number | undefined): Promise<ToolReport> {
  const [items, errorTypes] = await Promise.all([
    readRows<RowOf<typeof toolColumns>>(
      store,
      `select ${selectList(toolColumns)} from tool_health where run_id = {run:String} order by calls desc, tool`,
      { run },
    ),
    readRows<RowOf<typeof toolErrorColumns>>(
      store,
      `select tool, error_type, status, count() as calls, max(occurred_at) as last_at
       from tool_calls where run_id = {run:String} and status != 'ok'
       group by tool, error_type, status order by calls desc, tool, error_type, status limit ${MOST_ERROR_TYPES}`,
      { run },
    ),
  ]);
  const changes = step === undefined ? {} : { changes: await readToolChanges(store, run, step) };
  return { items, error_types: errorTypes, ...changes };
}

interface Block {
  readonly block: number;
  readonly turns: number;
}

interface LargeRun {
  readonly run: string;
  /** As they are now. */
  readonly blocks: readonly Block[];
  readonly kept: readonly Block[];
}

async function readLarge(store: Store, { run, blocks, kept }: LargeRun, step: number | undefined): Promise<ToolReport> {
  const since = step ?? 0;
  // The block that the step is in has calls of both sides, which are told apart by their turns alone.
  const split = since % BLOCK_VERSIONS === 0 ? undefined : Math.floor(since / BLOCK_VERSIONS);
  const made = new Set(kept.map(({ block, turns }) => `${block}/${turns}`));
  const isKept = ({ block, turns }: Block): boolean => block !== split && made.has(`${block}/${turns}`);
  const current = blocks.filter(isKept);
  const others = blocks.filter((one) => !isKept(one)).map(({ block }) => block);
  const [known, missing] = await Promise.all([
    current.length === 0 ? [] : readRows<ToolFigures>(store, keptSql, { ...currentOf(run, current), step: since }),
    others.length === 0 ? [] : readRows<ToolFigures>(store, toolFiguresSql, toolFigureParams(run, others, since)),
  ]);
  return reportOf(run, [...known, ...missing], { most: MOST_ERROR_TYPES, withChanges: step !== undefined });
}

/** Made of as many turns as there are. */
const IS_CURRENT = 'turns = transform(block, {blocks:Array(Int32)}, {turns:Array(Int64)}, toInt64(-1))';

const currentOf = (run: string, blocks: readonly Block[]): Readonly<Record<string, unknown>> => ({
  run,
  blocks: blocks.map(({ block }) => block),
  turns: blocks.map(({ turns }) => turns),
});

/** All blocks together; the block of unknown versions stays apart, since it is neither before nor since. */
const keptSql = `
  select
    if(figures.block < 0, -1, 0) as block,
    figures.block * ${BLOCK_VERSIONS} >= {step:Int32} as since,
    tool,
    status,
    error_type,
    sum(calls) as calls,
    sum(cache_hits) as cache_hits,
    sum(truncated_results) as truncated_results,
    sum(ms_sum) as ms_sum,
    max(figures.ms_max) as ms_max,
    sumMap(figures.ms_buckets, figures.ms_calls).1 as ms_buckets,
    sumMap(figures.ms_buckets, figures.ms_calls).2 as ms_calls,
    sum(result_chars_sum) as result_chars_sum,
    argMax(slowest_arguments, figures.ms_max) as slowest_arguments,
    min(first_at) as first_at,
    max(last_at) as last_at
  from (
    select * from tool_figures
    where run_id = {run:String} and tool != '' and ${IS_CURRENT}
    limit 1 by block, tool, status, error_type
  ) as figures
  group by block, since, tool, status, error_type`;
