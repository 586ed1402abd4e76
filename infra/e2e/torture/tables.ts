// Compares the raw log with the tables: every record must be in the table of its type exactly once, with the same content, and nothing else
// may be there. Counts and checksums are compared per table first; where they differ, the rows are compared one by one.
import type { Store } from '../../../streams/core/ports.ts';
import { checksumSql, tablesOf, type RecordContent } from './contents.ts';
import { placeOf, type Contents } from './facts.ts';

export interface TablesVerdict {
  readonly records: number;
  readonly missing: number;
  readonly doubled: number;
  readonly changed: number;
  /** Rows without a record. */
  readonly extra: number;
  /** XOR of the checksums of all records, hex: equal on both sides if all is well. */
  readonly checksum: string;
  readonly problems: readonly string[];
}

/** One row, or several identical ones. */
export interface StoredRow {
  readonly partition: number;
  readonly offset: number;
  readonly table: string;
  readonly checksum: string;
  readonly times: number;
}

export async function judgeTables(store: Store, contents: Contents): Promise<TablesVerdict> {
  const parts: TablesVerdict[] = [];
  for (const [topic, records] of contents) {
    for (const table of tablesOf(topic)) {
      const own = records.filter((record) => record.table === table);
      parts.push(compareRows(own, (await isEqual(store, table, own)) ? undefined : await storedRows(store, table)));
    }
    if (topic === 'training') parts.push(await judgeTrained(store, records));
  }
  return addUp(parts);
}

interface Sum {
  readonly rows: number;
  readonly mixed: string;
  readonly added: string;
}

async function isEqual(store: Store, table: string, records: readonly RecordContent[]): Promise<boolean> {
  const [found] = await store.query<Sum>(
    `select count() as rows, toString(groupBitXor(value)) as mixed, toString(sum(value)) as added
     from (select reinterpretAsUInt64(reverse(unhex(${checksumSql.get(table) ?? "''"}))) as value from ${table})`,
  );
  const mixed = records.reduce((sum, { checksum }) => sum ^ BigInt(`0x${checksum}`), 0n);
  const added = records.reduce((sum, { checksum }) => BigInt.asUintN(64, sum + BigInt(`0x${checksum}`)), 0n);
  return found?.rows === records.length && found.mixed === String(mixed) && found.added === String(added);
}

const storedRows = (store: Store, table: string): Promise<readonly StoredRow[]> =>
  store.query<StoredRow>(
    `select _partition as partition, _offset as offset, '${table}' as table, ${checksumSql.get(table) ?? "''"} as checksum, count() as times
     from ${table} group by partition, offset, checksum`,
  );

/** Compares the records of one table with its rows; `rows` is undefined when both are known to be equal. */
export function compareRows(records: readonly RecordContent[], rows: readonly StoredRow[] | undefined): TablesVerdict {
  const mixed = records.reduce((sum, { checksum }) => sum ^ BigInt(`0x${checksum}`), 0n);
  const verdict = { records: records.length, missing: 0, doubled: 0, changed: 0, extra: 0, checksum: mixed.toString(16), problems: [] };
  return rows === undefined ? verdict : { ...verdict, ...partings(records, rows) };
}

function partings(records: readonly RecordContent[], rows: readonly StoredRow[]) {
  const counts = { missing: 0, doubled: 0, changed: 0 };
  const problems: string[] = [];
  const found = new Map<string, StoredRow[]>();
  for (const row of rows) found.set(placeOf(row), [...(found.get(placeOf(row)) ?? []), row]);
  for (const record of records) {
    const wrong = wrongWith(record, found.get(placeOf(record)) ?? []);
    found.delete(placeOf(record));
    if (wrong === undefined) continue;
    counts[wrong] += 1;
    problems.push(`${record.table}: record ${placeOf(record)} is ${wrong}`);
  }
  for (const [place, extra] of found) problems.push(`${extra[0]?.table ?? ''}: row at ${place}, where there is no record`);
  return { ...counts, extra: found.size, problems };
}

function wrongWith(record: RecordContent, rows: readonly StoredRow[]): 'missing' | 'doubled' | 'changed' | undefined {
  const times = rows.reduce((sum, row) => sum + row.times, 0);
  if (times !== 1) return times === 0 ? 'missing' : 'doubled';
  return rows[0]?.checksum === record.checksum ? undefined : 'changed';
}

interface TrainedRows {
  readonly partition: number;
  readonly offset: number;
  readonly times: number;
  readonly differing: number;
}

async function judgeTrained(store: Store, records: readonly RecordContent[]): Promise<TablesVerdict> {
  return compareTrained(
    records,
    await store.query<TrainedRows>(
      `select _partition as partition, _offset as offset, count() as times, uniqExact(trajectory_id) as differing
       from step_trajectories group by partition, offset`,
    ),
  );
}

/** A step has one row in step_trajectories for each of its trajectories. */
export function compareTrained(records: readonly RecordContent[], rows: readonly TrainedRows[]): TablesVerdict {
  const found = new Map(rows.map((row) => [placeOf(row), row]));
  const counts = { missing: 0, doubled: 0, changed: 0, extra: 0 };
  const problems: string[] = [];
  for (const record of records) {
    const { times, differing } = found.get(placeOf(record)) ?? { times: 0, differing: 0 };
    found.delete(placeOf(record));
    if (times === record.trained && differing === times) continue;
    counts[times > differing ? 'doubled' : differing < record.trained ? 'missing' : 'changed'] += 1;
    problems.push(
      `step_trajectories: the step at ${placeOf(record)} has ${times} rows of ${differing} trajectories, not ${record.trained}`,
    );
  }
  for (const place of found.keys()) problems.push(`step_trajectories: rows at ${place}, where there is no record`);
  return { records: 0, checksum: '0', ...counts, extra: found.size, problems };
}

function addUp(parts: readonly TablesVerdict[]): TablesVerdict {
  const sum = (read: (part: TablesVerdict) => number): number => parts.reduce((total, part) => total + read(part), 0);
  return {
    records: sum((part) => part.records),
    missing: sum((part) => part.missing),
    doubled: sum((part) => part.doubled),
    changed: sum((part) => part.changed),
    extra: sum((part) => part.extra),
    checksum: parts.reduce((mixed, part) => mixed ^ BigInt(`0x${part.checksum}`), 0n).toString(16),
    problems: parts.flatMap((part) => part.problems),
  };
}
