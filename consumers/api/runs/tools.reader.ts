// Tool statistics of a run. For a small run they are computed from its turns. For a large run the warehouse keeps figures by block of
// versions, and only the missing blocks are computed. Percentiles of a large run come from buckets and are accurate to 1 %.
import { BLOCK_VERSIONS, toolBlocksSql, toolFigureParams, toolFiguresSql } from '../../common/tool-figures.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { selectList, type RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import { readToolChanges, type RunPart } from '../reports/reports.reader.ts';
import { toolColumns, type toolErrorColumns } from './runs.columns.ts';
import { reportOf, type ToolFigures, type ToolReport } from './tool-figures.ts';

const MOST_ERROR_TYPES = 200;

/** The calls of a run, optionally of one purpose. With `step`, also the changes since then. */
export async function readTools(store: Store, part: RunPart, step?: number): Promise<ToolReport> {
  const { run } = part;
  const [kept, blocks] = await Promise.all([
    readRows<TurnBlock>(store, 'select distinct block, turns from tool_figures where run_id = {run:String}', { run }),
    readRows<TurnBlock>(store, toolBlocksSql, { run }),
  ]);
  return kept.length === 0 ? readSmall(store, part, step) : readLarge(store, { ...part, blocks, kept }, step);
}

/** The content of the view `tool_calls`, each call once. */
const calls = (more = ''): string => `from (
    select * from turns
    where run_id = {run:String} and tool != '' and ({purpose:String} = '' or purpose = {purpose:String})${more}
      and (_partition, _offset) not in (select _partition, _offset from repeated_turns where run_id = {run:String})
  )`;

/** The content of the view `tool_health`. */
const HEALTH = `select run_id, tool, count() as calls, countIf(tool_status = 'ok') as ok, countIf(tool_status = 'error') as errors,
    countIf(tool_status = 'timeout') as timeouts, countIf(tool_status = 'refused') as refused, (calls - ok) / calls as failure_rate,
    countIf(cache_hit) as cache_hits, countIf(truncated) as truncated_results, avg(tool_ms) as ms_mean,
    quantile(0.5)(tool_ms) as ms_p50, quantile(0.95)(tool_ms) as ms_p95, quantile(0.99)(tool_ms) as ms_p99, max(tool_ms) as ms_max,
    avg(tool_result_chars) as result_chars_mean, min(occurred_at) as first_at, max(occurred_at) as last_at
  ${calls()}
  group by run_id, tool`;

async function readSmall(store: Store, part: RunPart, step: number | undefined): Promise<ToolReport> {
  const params = { run: part.run, purpose: part.purpose ?? '' };
  const [items, errorTypes] = await Promise.all([
    readRows<RowOf<typeof toolColumns>>(store, `select ${selectList(toolColumns)} from (${HEALTH}) order by calls desc, tool`, params),
    readRows<RowOf<typeof toolErrorColumns>>(
      store,
      `select tool, tool_error_type as error_type, tool_status as status, count() as calls, max(occurred_at) as last_at
       ${calls(" and tool_status != 'ok'")}
       group by tool, error_type, status order by calls desc, tool, error_type, status limit ${MOST_ERROR_TYPES}`,
      params,
    ),
  ]);
  const changes = step === undefined ? {} : { changes: await readToolChanges(store, part, step) };
  return { items, error_types: errorTypes, ...changes };
}

interface TurnBlock {
  readonly block: number;
  readonly turns: number;
}

interface FiguresOfPurpose extends ToolFigures {
  readonly purpose: string;
}

interface LargeRun extends RunPart {
  /** The current blocks. */
  readonly blocks: readonly TurnBlock[];
  readonly kept: readonly TurnBlock[];
}

async function readLarge(store: Store, { run, purpose, blocks, kept }: LargeRun, step: number | undefined): Promise<ToolReport> {
  const since = step ?? 0;
  // The block that contains the step has calls on both sides, and only its turns can tell them apart.
  const split = since % BLOCK_VERSIONS === 0 ? undefined : Math.floor(since / BLOCK_VERSIONS);
  const made = new Set(kept.map(({ block, turns }) => `${block}/${turns}`));
  const isKept = ({ block, turns }: TurnBlock): boolean => block !== split && made.has(`${block}/${turns}`);
  const current = blocks.filter(isKept);
  const others = blocks.filter((one) => !isKept(one)).map(({ block }) => block);
  const [known, ...missing] = await Promise.all([
    current.length === 0 ? [] : readKept(store, { ...currentOf(run, current), step: since, purpose: purpose ?? '' }),
    ...neighbors(others).map((some) => readRows<FiguresOfPurpose>(store, toolFiguresSql, toolFigureParams(run, some, since))),
  ]);
  const ofPurpose = missing.flat().filter((row) => purpose === undefined || row.purpose === purpose);
  return reportOf(run, [...known, ...ofPurpose], { most: MOST_ERROR_TYPES, withChanges: step !== undefined });
}

/** Sorted blocks in one group, or in two with the widest gap between them: reading a group also looks at the versions in its gaps. */
function neighbors(blocks: readonly number[]): readonly (readonly number[])[] {
  const gaps = blocks.slice(1).map((block, at) => block - (blocks[at] ?? block));
  const widest = Math.max(1, ...gaps);
  const cut = widest === 1 ? 0 : gaps.indexOf(widest) + 1;
  return [blocks.slice(0, cut), blocks.slice(cut)].filter((group) => group.length > 0);
}

/** The kept figures cover as many turns as there are now. */
const IS_CURRENT = 'turns = transform(block, {blocks:Array(Int32)}, {turns:Array(Int64)}, toInt64(-1))';

const currentOf = (run: string, blocks: readonly TurnBlock[]): Readonly<Record<string, unknown>> => ({
  run,
  blocks: blocks.map(({ block }) => block),
  turns: blocks.map(({ turns }) => turns),
});

/** The current figures of each block, each once. */
const KEPT = `(
    select * from tool_figures
    where run_id = {run:String} and tool != '' and ({purpose:String} = '' or purpose = {purpose:String}) and ${IS_CURRENT}
    limit 1 by block, purpose, tool, status, error_type
  )`;

/** Blocks whose figures are combined. The block of unknown versions stays separate, because it is neither before nor since. */
const GROUP = `cityHash64(least(figures.block, 0), figures.block * ${BLOCK_VERSIONS} >= {step:Int32}, tool, status, error_type)`;

interface KeptFigures extends Omit<ToolFigures, 'ms_buckets' | 'ms_calls'> {
  readonly group: string;
}

interface KeptBuckets extends Pick<ToolFigures, 'ms_buckets' | 'ms_calls'> {
  readonly group: string;
}

/** Two statements: summing the buckets by a number is twice as fast as by the names, which only the other figures need. */
async function readKept(store: Store, params: Readonly<Record<string, unknown>>): Promise<readonly ToolFigures[]> {
  const [figures, buckets] = await Promise.all([
    readRows<KeptFigures>(store, keptSql, params),
    readRows<KeptBuckets>(store, keptBucketsSql, params),
  ]);
  const bucketsOf = new Map(buckets.map(({ group, ...own }) => [group, own]));
  return figures.map(({ group, ...own }) => ({ ...own, ...(bucketsOf.get(group) ?? { ms_buckets: [], ms_calls: [] }) }));
}

const keptSql = `
  select
    toString(${GROUP}) as group,
    least(figures.block, 0) as block,
    figures.block * ${BLOCK_VERSIONS} >= {step:Int32} as since,
    tool,
    status,
    error_type,
    sum(calls) as calls,
    sum(cache_hits) as cache_hits,
    sum(truncated_results) as truncated_results,
    sum(ms_sum) as ms_sum,
    max(figures.ms_max) as ms_max,
    sum(result_chars_sum) as result_chars_sum,
    argMax(slowest_arguments, figures.ms_max) as slowest_arguments,
    min(first_at) as first_at,
    max(last_at) as last_at
  from ${KEPT} as figures
  group by group, block, since, tool, status, error_type`;

const keptBucketsSql = `
  select toString(hash) as group, groupArray(bucket) as ms_buckets, groupArray(n) as ms_calls
  from (
    select hash, bucket, sum(count) as n
    from (select ${GROUP} as hash, ms_buckets, ms_calls from ${KEPT} as figures)
    array join ms_buckets as bucket, ms_calls as count
    group by hash, bucket
  )
  group by hash`;
