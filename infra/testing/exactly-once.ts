// The expected content of the tables for a log: the rows of every record, exactly once. For tests of the sink.
import type { EventRead, EventReader, LogRecord, Row } from '../../streams/core/ports.ts';
import { judgeRecord } from '../../consumers/warehouse/dead-letter.step.ts';
import { project } from '../../consumers/warehouse/rows/project.ts';

const textOf = (row: Row): string => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Rows of each table, as sorted texts. Records that cannot be stored are left out; their dead letters are records too. */
export function expectedRows(records: readonly LogRecord[], reader: EventReader): Record<string, string[]> {
  const tables = new Map<string, string[]>();
  for (const record of records) {
    const outcome = judgeRecord(reader.read(record) as EventRead);
    if (outcome.kind !== 'next') continue;
    project(record, outcome.value, (table, row) => tables.set(table, [...(tables.get(table) ?? []), textOf(row)]));
  }
  return sorted(tables);
}

/** The same for actual rows. */
export function actualRows(tables: ReadonlyMap<string, readonly Row[]>): Record<string, string[]> {
  return sorted(new Map([...tables].map(([table, rows]) => [table, rows.map(textOf)])));
}

const sorted = (tables: ReadonlyMap<string, readonly string[]>): Record<string, string[]> =>
  Object.fromEntries([...tables].filter(([, rows]) => rows.length > 0).map(([table, rows]) => [table, [...rows].sort()]));
