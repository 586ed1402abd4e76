// What the tables hold of the log, according to the tables themselves. Every row carries the position of its record, so neither the group's
// offsets nor the engine's token memory is needed to know what is stored.
//
// Replicas: before a replica answers, it fetches everything that any replica has acknowledged.
import { createHash, randomBytes } from 'node:crypto';
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { QueryOptions, Store } from '../../streams/core/ports.ts';
import type { PartitionBounds } from './bundle.ts';
import { placeOf } from './rows/cells.ts';
import { tablesOf, type TableName } from './rows/tables.ts';

/** The last record of a partition that the tables hold. */
export interface Top {
  readonly offset: number;
  /** Timestamp of the record, ms. */
  readonly timestampMs: number;
}

export interface Holdings {
  /** An id for an insert of rows of these partitions into a table; `endInserts` finds the insert by it. */
  idOf(table: TableName, partitions: readonly number[]): string;
  /** Ends running inserts into these tables for any of these partitions, regardless of the sender. */
  endInserts(tables: readonly TableName[], partitions: readonly number[]): Promise<void>;
  /** The last record of each partition in the tables of a topic, at `from` or above; missing where they hold none. */
  tops(topic: EventTopic, from: ReadonlyMap<number, number>): Promise<ReadonlyMap<number, Top>>;
  /** Timestamps of the records that have rows in the tables, by offset, ms; for one partition, at `from` or above. */
  times(topic: EventTopic, partition: number, from: number): Promise<ReadonlyMap<number, number>>;
  /** How many rows a table holds of each record within the bounds, by position. */
  held(table: TableName, topic: EventTopic, bounds: readonly PartitionBounds[]): Promise<ReadonlyMap<string, number>>;
  /** Deletes the rows of the records within the bounds; resolves when they are gone. */
  erase(table: TableName, topic: EventTopic, bounds: readonly PartitionBounds[]): Promise<void>;
}

/** Greater than every offset. */
export const LAST_OFFSET = Number.MAX_SAFE_INTEGER;

export function createHoldings(store: Store): Holdings {
  const prefix = prefixOf(store.database);
  let replicated: Promise<ReadonlySet<string>> | undefined;

  /** A replica that lags would miss what another one has acknowledged. */
  async function catchUp(tables: readonly TableName[]): Promise<void> {
    replicated ??= replicatedTables(store).catch((error: unknown) => {
      replicated = undefined;
      throw error;
    });
    const known = await replicated;
    for (const table of tables) if (known.has(table)) await store.command(`system sync replica ${table}`);
  }

  return {
    idOf: (table, partitions) => `${prefix}${table}.${partitions.join('-')}.${randomBytes(6).toString('hex')}`,
    async endInserts(tables, partitions) {
      await store.command(
        `kill query where startsWith(query_id, {prefix:String}) and has({tables:Array(String)}, splitByChar('.', query_id)[3])
         and hasAny(splitByChar('-', splitByChar('.', query_id)[4]), {partitions:Array(String)}) sync`,
        { params: { prefix, tables, partitions: partitions.map(String) } },
      );
    },
    async tops(topic, from) {
      const tops = new Map<number, Top>();
      if (from.size === 0) return tops;
      const params = { topic, partitions: [...from.keys()], from: [...from.values()] };
      const within = `_partition in {partitions:Array(Int32)} and _offset >= arrayMin({from:Array(Int64)})
        and _offset >= transform(_partition, {partitions:Array(Int32)}, {from:Array(Int64)}, toInt64(0))`;
      const tables = tablesOf(topic);
      await catchUp(tables);
      const found = await store.query<Top & { partition: number }>(
        `select _partition as partition, max(_offset) as offset, toUnixTimestamp64Milli(argMax(_timestamp, _offset)) as timestampMs
         from (${rowsIn(tables, within)}) group by partition`,
        consistent(params),
      );
      for (const { partition, offset, timestampMs } of found) tops.set(partition, { offset, timestampMs });
      return tops;
    },
    async times(topic, partition, from) {
      const within = '_partition = {partition:Int32} and _offset >= {from:Int64}';
      const found = await store.query<Top>(
        `select _offset as offset, toUnixTimestamp64Milli(any(_timestamp)) as timestampMs
         from (${rowsIn(tablesOf(topic), within)}) group by offset`,
        consistent({ topic, partition, from }),
      );
      return new Map(found.map(({ offset, timestampMs }) => [offset, timestampMs]));
    },
    async held(table, topic, bounds) {
      await catchUp([table]);
      const { where, params } = placesIn(topic, bounds);
      const found = await store.query<{ partition: number; offset: number; found: number }>(
        `select _partition as partition, _offset as offset, count() as found from ${table} where ${where} group by partition, offset`,
        consistent(params),
      );
      return new Map(found.map(({ partition, offset, found: rows }) => [placeOf(partition, offset), rows]));
    },
    async erase(table, topic, bounds) {
      const { where, params } = placesIn(topic, bounds);
      await store.command(`alter table ${table} delete where ${where}`, { params, settings: { mutations_sync: 2 } });
    },
  };
}

/** Databases share a server and its query ids, and their names may have any length. */
const prefixOf = (database: string): string => `turnstream-sink.${createHash('sha256').update(database).digest('hex').slice(0, 12)}.`;

const rowsIn = (tables: readonly TableName[], within: string): string =>
  tables
    .map((table) => `select _partition, _offset, _timestamp from ${table} where _topic = {topic:String} and ${within}`)
    .join(' union all ');

async function replicatedTables(store: Store): Promise<ReadonlySet<string>> {
  const found = await store.query<{ name: string }>(
    `select name from system.tables where database = currentDatabase() and match(engine, '^(Replicated|Shared)')`,
  );
  return new Set(found.map(({ name }) => name));
}

const consistent = (params: Readonly<Record<string, unknown>>): QueryOptions => ({
  params,
  settings: { select_sequential_consistency: 1 },
});

function placesIn(topic: EventTopic, bounds: readonly PartitionBounds[]) {
  const params: Record<string, unknown> = { topic };
  const ranges = bounds.map(({ partition, min, max }, at) => {
    Object.assign(params, { [`partition${at}`]: partition, [`min${at}`]: min, [`max${at}`]: max });
    return `(_partition = {partition${at}:Int32} and _offset between {min${at}:Int64} and {max${at}:Int64})`;
  });
  return { where: `_topic = {topic:String} and (${ranges.join(' or ')})`, params };
}
