// Compares the row counts and checksums of a slice on both sides, partition by partition, and finds the offsets where they differ. Every
// query is limited: to its slice, in time, and to one thread, so that the others are left to the sink and other readers.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { QueryOptions, Store } from '../../streams/core/ports.ts';
import { hashesFrom } from './audit-digest.ts';
import { offsetsOf, type OffsetWindow } from './audit-slices.ts';
import type { SideSum } from './audit-tally.ts';
import { tablesOf, type TableName } from './rows/tables.ts';

export interface AuditSide extends SideSum {
  readonly topic: string;
  readonly partition: number;
}

export interface Parting {
  readonly offset: number;
  readonly logRows: number;
  readonly tableRows: number;
}

/** A table within a slice. */
export interface ComparedTable {
  readonly store: Store;
  readonly topic: EventTopic;
  readonly table: TableName;
  readonly slice: readonly OffsetWindow[];
  /** Name of the table with the hashes of the log's rows; undefined when the log gives no rows. */
  readonly hashes: string | undefined;
}

/** Shorter than the client's timeout. */
const QUERY_S = 60;

export const bounded = (params: Readonly<Record<string, unknown>>): QueryOptions => ({
  params,
  settings: { max_execution_time: QUERY_S, timeout_overflow_mode: 'throw', max_threads: 1, priority: 10 },
});

const SUMS = 'count() as total, toString(groupBitXor(hash)) as xored, toString(sum(hash)) as summed';

interface Summed {
  readonly topic: string;
  readonly partition: number;
  readonly total: number;
  readonly xored: string;
  readonly summed: string;
}

const sideOf = ({ topic, partition, total, xored, summed }: Summed): AuditSide => ({ topic, partition, rows: total, xored, summed });

/** Condition on the rows of a slice: the bounds over all partitions come first, because they skip most granules. */
export const inSlice = `_topic = {topic:String} and _offset >= {least:Int64} and _offset < {most:Int64} and has({partitions:Array(Int32)}, _partition)
  and _offset >= transform(_partition, {partitions:Array(Int32)}, {firsts:Array(Int64)}, toInt64(0))
  and _offset < transform(_partition, {partitions:Array(Int32)}, {ends:Array(Int64)}, toInt64(0))`;

export const sliceParams = (topic: EventTopic, slice: readonly OffsetWindow[]): Record<string, unknown> => ({
  topic,
  least: Math.min(...slice.map(({ first }) => first)),
  most: Math.max(...slice.map(({ end }) => end)),
  partitions: slice.map(({ partition }) => partition),
  firsts: slice.map(({ first }) => first),
  ends: slice.map(({ end }) => end),
});

/** The rows of the slice in each table of the topic, one table after the other. */
export async function tableSides(
  { store, topic, slice }: Pick<ComparedTable, 'store' | 'topic' | 'slice'>,
  signal?: AbortSignal,
): Promise<ReadonlyMap<TableName, readonly AuditSide[]>> {
  const stop = signal === undefined ? {} : { signal };
  const found = new Map<TableName, readonly AuditSide[]>();
  if (offsetsOf(slice) === 0) return found;
  for (const table of tablesOf(topic)) {
    const rows = await store.query<Summed>(
      `select {topic:String} as topic, _partition as partition, ${SUMS} from (${hashesFrom(table, inSlice)}) group by partition order by partition`,
      { ...bounded(sliceParams(topic, slice)), ...stop },
    );
    found.set(table, rows.map(sideOf));
  }
  return found;
}

export async function logSide({ store, topic, hashes }: ComparedTable): Promise<readonly AuditSide[]> {
  if (hashes === undefined) return [];
  const found = await store.query<Summed>(
    `select {topic:String} as topic, _partition as partition, ${SUMS} from ${hashes} group by partition order by partition`,
    bounded({ topic }),
  );
  return found.map(sideOf);
}

/** Rows of a table whose partition does not exist in the topic: the log has none of them. */
export async function strays(
  store: Store,
  table: TableName,
  of: { readonly topic: EventTopic; readonly partitions: readonly number[] },
): Promise<readonly AuditSide[]> {
  const found = await store.query<Summed>(
    `select _topic as topic, _partition as partition, ${SUMS}
     from (${hashesFrom(table, '_topic != {topic:String} or not has({partitions:Array(Int32)}, _partition)')})
     group by topic, partition order by topic, partition`,
    bounded({ ...of }),
  );
  return found.map(sideOf);
}

/** The lowest offsets of one partition where the two sides have different rows. */
export async function partings(
  compared: ComparedTable,
  side: Pick<AuditSide, 'topic' | 'partition'>,
  limit: number,
): Promise<readonly Parting[]> {
  const { store, topic, table, slice, hashes } = compared;
  const own = slice.find(({ partition }) => side.topic === topic && partition === side.partition);
  const logRows =
    own === undefined || hashes === undefined
      ? ''
      : `select _offset, toUInt8(1) as of_log, hash from ${hashes} where _partition = {partition:Int32}`;
  const place = `_topic = {side:String} and _partition = {partition:Int32} and _offset >= {first:Int64} and _offset < {end:Int64}`;
  const tableRows = `select _offset, toUInt8(0) as of_log, hash from (${hashesFrom(table, place)})`;
  const found = await store.query<{ at: number; log_rows: number; table_rows: number }>(
    `select _offset as at, countIf(of_log = 1) as log_rows, countIf(of_log = 0) as table_rows
     from (${[logRows, tableRows].filter((text) => text !== '').join(' union all ')})
     group by _offset
     having log_rows != table_rows or sumIf(hash, of_log = 1) != sumIf(hash, of_log = 0) or groupBitXor(hash) != 0
     order by _offset limit {limit:UInt32}`,
    bounded({
      ...{ side: side.topic, partition: side.partition, limit },
      ...{ first: own?.first ?? 0, end: own?.end ?? Number.MAX_SAFE_INTEGER },
    }),
  );
  return found.map(({ at, log_rows, table_rows }) => ({ offset: at, logRows: log_rows, tableRows: table_rows }));
}

/** Offsets of rows at or above the given ends of their partitions. */
export async function rowsAbove(
  compared: Pick<ComparedTable, 'store' | 'topic' | 'table'>,
  ends: ReadonlyMap<number, number>,
  limit: number,
): Promise<readonly { readonly partition: number; readonly offset: number }[]> {
  return compared.store.query(
    `select _partition as partition, _offset as offset from ${compared.table}
     where _topic = {topic:String} and _offset >= transform(_partition, {partitions:Array(Int32)}, {ends:Array(Int64)}, toInt64(9223372036854775807))
     order by _partition, _offset limit {limit:UInt32}`,
    bounded({ topic: compared.topic, partitions: [...ends.keys()], ends: [...ends.values()], limit }),
  );
}
