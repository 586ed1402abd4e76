// Count and checksum of a table on both sides, partition by partition, and the offsets where they part.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { Store } from '../../streams/core/ports.ts';
import { tablesOf, type TableName } from './rows/tables.ts';

/** Offsets of a partition that both sides must have: from what the log still holds to what the sink has committed. */
export interface Window {
  readonly partition: number;
  readonly first: number;
  readonly committed: number;
}

export interface Side {
  readonly topic: string;
  readonly partition: number;
  readonly rows: number;
  readonly checksum: string;
}

export interface Parting {
  readonly offset: number;
  readonly logRows: number;
  readonly tableRows: number;
}

interface Summed {
  readonly topic: string;
  readonly partition: number;
  readonly total: number;
  readonly checksum: string;
}

const CHECKSUM = "concat(hex(groupBitXor(hash)), '-', hex(sum(hash)))";

/** Rows of partitions or topics that are no window are all taken in: the other side has none of them. */
const IN_WINDOW = `(_topic != {topic:String}
  or (_offset >= transform(_partition, {partitions:Array(Int32)}, {firsts:Array(Int64)}, toInt64(0))
    and _offset < transform(_partition, {partitions:Array(Int32)}, {ends:Array(Int64)}, toInt64(9223372036854775807))))`;

const paramsOf = (topic: EventTopic, windows: readonly Window[]): Record<string, unknown> => ({
  topic,
  partitions: windows.map((window) => window.partition),
  firsts: windows.map((window) => window.first),
  ends: windows.map((window) => window.committed),
});

export interface Compared {
  readonly store: Store;
  readonly topic: EventTopic;
  readonly table: TableName;
  readonly windows: readonly Window[];
  /** Table of the log's side; undefined when the log gives no row. */
  readonly hashes: string | undefined;
}

const sides = (found: readonly Summed[]): readonly Side[] =>
  found.map(({ topic, partition, total, checksum }) => ({ topic, partition, rows: total, checksum }));

/** What each table of the topic holds, one table after the other. */
export async function tableSides(looked: Omit<Compared, 'table' | 'hashes'>): Promise<ReadonlyMap<TableName, readonly Side[]>> {
  const found = new Map<TableName, readonly Side[]>();
  for (const table of tablesOf(looked.topic)) found.set(table, await tableSide({ ...looked, table }));
  return found;
}

async function tableSide({ store, topic, table, windows }: Omit<Compared, 'hashes'>): Promise<readonly Side[]> {
  const found = await store.query<Summed>(
    `select topic, partition, count() as total, ${CHECKSUM} as checksum
     from (select _topic as topic, _partition as partition, sipHash64(*) as hash from ${table} where ${IN_WINDOW})
     group by topic, partition order by topic, partition`,
    { params: paramsOf(topic, windows) },
  );
  return sides(found);
}

export async function logSide({ store, topic, hashes }: Compared): Promise<readonly Side[]> {
  if (hashes === undefined) return [];
  const found = await store.query<Summed>(
    `select {topic:String} as topic, _partition as partition, count() as total, ${CHECKSUM} as checksum
     from ${hashes} group by partition order by partition`,
    { params: { topic } },
  );
  return sides(found);
}

/** The lowest offsets of one partition where the sides have different rows. */
export async function partings(compared: Compared, side: Pick<Side, 'topic' | 'partition'>, limit: number): Promise<readonly Parting[]> {
  const { store, topic, table, windows, hashes } = compared;
  const logRows =
    side.topic === topic && hashes !== undefined
      ? `select _offset, toUInt8(1) as of_log, hash from ${hashes} where _partition = {partition:Int32}`
      : '';
  const tableRows = `select _offset, toUInt8(0) as of_log, sipHash64(*) as hash from ${table}
    where _topic = {side:String} and _partition = {partition:Int32} and ${IN_WINDOW}`;
  const found = await store.query<{ at: number; log_rows: number; table_rows: number }>(
    `select _offset as at, countIf(of_log = 1) as log_rows, countIf(of_log = 0) as table_rows
     from (${[logRows, tableRows].filter((text) => text !== '').join(' union all ')})
     group by _offset
     having log_rows != table_rows or sumIf(hash, of_log = 1) != sumIf(hash, of_log = 0) or groupBitXor(hash) != 0
     order by _offset limit {limit:UInt32}`,
    { params: { ...paramsOf(topic, windows), side: side.topic, partition: side.partition, limit } },
  );
  return found.map(({ at, log_rows, table_rows }) => ({ offset: at, logRows: log_rows, tableRows: table_rows }));
}

/** Offsets of rows that lie at or above the given ends of their partitions. */
export async function rowsAbove(
  compared: Omit<Compared, 'windows' | 'hashes'>,
  ends: ReadonlyMap<number, number>,
  limit: number,
): Promise<readonly { readonly partition: number; readonly offset: number }[]> {
  return compared.store.query(
    `select _partition as partition, _offset as offset from ${compared.table}
     where _topic = {topic:String} and _offset >= transform(_partition, {partitions:Array(Int32)}, {ends:Array(Int64)}, toInt64(9223372036854775807))
     order by _partition, _offset limit {limit:UInt32}`,
    { params: { topic: compared.topic, partitions: [...ends.keys()], ends: [...ends.values()], limit } },
  );
}
