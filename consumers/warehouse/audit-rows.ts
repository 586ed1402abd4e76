// Finds the columns in which a row differs: inserts the log's rows into a copy of their table, so that both sides are read from ClickHouse
// in the same form.
import { randomBytes } from 'node:crypto';
import { groupBy } from '../../streams/core/group-by.ts';
import type { Row, Store } from '../../streams/core/ports.ts';
import type { TableName } from './rows/tables.ts';

export interface ColumnDifference {
  readonly column: string;
  /** As displayed by ClickHouse, shortened. */
  readonly log: string;
  readonly table: string;
}

const SHOWN_CHARS = 80;
const EXACT = { output_format_json_quote_64bit_integers: 1, output_format_json_quote_denormals: 1 };

/** For each offset, the columns that differ between the rows of the log and those of the table. */
export async function changedColumns(
  store: Store,
  place: { readonly topic: string; readonly partition: number; readonly table: TableName; readonly offsets: readonly number[] },
  logRows: readonly Row[],
): Promise<ReadonlyMap<number, readonly ColumnDifference[]>> {
  const { topic, partition, table, offsets } = place;
  const copy = `audit_scratch_${Date.now()}_${randomBytes(4).toString('hex')}_rows`;
  const select = (from: string): Promise<readonly Row[]> =>
    store.query(
      `select * from ${from} where _topic = {topic:String} and _partition = {partition:Int32} and has({offsets:Array(Int64)}, _offset)`,
      { params: { topic, partition, offsets }, settings: EXACT },
    );
  await store.command(`create table ${copy} as ${table} engine = Memory`);
  try {
    if (logRows.length > 0) await store.insert(copy, logRows, copy);
    const ofLog = groupBy(await select(copy), offsetOf);
    const ofTable = groupBy(await select(table), offsetOf);
    return new Map(offsets.map((offset) => [offset, compareRows(ofLog.get(offset) ?? [], ofTable.get(offset) ?? [])]));
  } finally {
    await store.command(`drop table if exists ${copy}`);
  }
}

const offsetOf = (row: Row): number => Number(row['_offset']);

/** Pairs each row of the log that has no equal in the table with the most similar unmatched row, and lists the differing columns. */
export function compareRows(log: readonly Row[], table: readonly Row[]): readonly ColumnDifference[] {
  const left = new Map<string, number>();
  for (const row of table) left.set(JSON.stringify(row), (left.get(JSON.stringify(row)) ?? 0) + 1);
  const onlyLog = log.filter((row) => !takeOne(left, JSON.stringify(row)));
  const onlyTable = [...left].flatMap(([text, count]) => Array.from({ length: count }, () => JSON.parse(text) as Row));
  return onlyLog.flatMap((row) => {
    const nearest = onlyTable.map((other) => columnsOf(row, other)).sort((a, b) => a.length - b.length)[0];
    return nearest ?? [];
  });
}

function takeOne(counts: Map<string, number>, text: string): boolean {
  const count = counts.get(text) ?? 0;
  if (count > 0) counts.set(text, count - 1);
  return count > 0;
}

const columnsOf = (log: Row, table: Row): readonly ColumnDifference[] =>
  Object.keys(log).flatMap((column) => {
    const [a, b] = [JSON.stringify(log[column]), JSON.stringify(table[column])];
    return a === b ? [] : [{ column, log: a.slice(0, SHOWN_CHARS), table: b.slice(0, SHOWN_CHARS) }];
  });
