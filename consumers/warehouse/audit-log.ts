// The log's side of the audit: the rows that its records must have produced.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { EventRead, LogReader, LogRecord, Row, Store } from '../../streams/core/ports.ts';
import { batchesOf } from '../../streams/core/read-log.ts';
import { judgeRecord, unreadableRow } from './dead-letter.step.ts';
import { placeOf } from './rows/cells.ts';
import { project } from './rows/project.ts';
import type { TableName } from './rows/tables.ts';

/** Tables that lack a row of the record because it is a dead letter; 'all' when the record could not be decoded. */
export type Covered = ReadonlyMap<string, ReadonlySet<TableName> | 'all'>;

/** The records of a topic whose dead letters are in the table. */
export async function coveredRecords(store: Store, topic: EventTopic): Promise<Covered> {
  const found = await store.query<{ partition: number; offset: number; event_id: string }>(
    `select distinct original_partition as partition, original_offset as offset, event_id from dead_letter_events
     where original_topic = {topic:String} and step = 'warehouse'`,
    { params: { topic } },
  );
  const covered = new Map<string, Set<TableName> | 'all'>();
  for (const { partition, offset, event_id } of found) {
    const place = placeOf(partition, offset);
    const table = event_id.split('/')[3] as TableName | undefined;
    const known = covered.get(place);
    if (table === undefined || known === 'all') covered.set(place, 'all');
    else covered.set(place, new Set([...(known ?? []), table]));
  }
  return covered;
}

export type Expectation =
  /** Exactly these rows. */
  | { readonly kind: 'rows'; readonly rows: readonly { readonly table: TableName; readonly row: Row }[] }
  /** Any row: the record can be decoded now, but could not when it was stored. */
  | { readonly kind: 'as-stored' }
  /** The dead letter is missing. */
  | { readonly kind: 'uncovered'; readonly reason: string };

/** What the tables must hold for a record. */
export function expectationFrom(
  record: LogRecord,
  read: EventRead,
  context: { readonly covered: Covered; readonly deadLetterBytes: number },
): Expectation {
  const outcome = judgeRecord(read);
  const covered = context.covered.size === 0 ? undefined : context.covered.get(placeOf(record.partition, record.offset));
  const rows: { table: TableName; row: Row }[] = [];
  if (record.topic === 'dead-letters') {
    if (outcome.kind === 'next' && covered !== undefined) return { kind: 'as-stored' };
    if (outcome.kind === 'dead-letter') {
      const row = unreadableRow({ record, reason: outcome.reason, error: '' }, context.deadLetterBytes);
      return { kind: 'rows', rows: [{ table: 'dead_letter_events', row }] };
    }
  }
  if (covered === 'all') return { kind: 'rows', rows };
  if (outcome.kind === 'dead-letter') return { kind: 'uncovered', reason: outcome.reason };
  project(record, outcome.value, (table, row) => {
    if (covered?.has(table) !== true) rows.push({ table, row });
  });
  return { kind: 'rows', rows };
}

/** Records of each partition that the sink has not committed yet; transaction markers do not count. */
export async function lagOf(
  reader: LogReader,
  topic: EventTopic,
  committed: ReadonlyMap<number, number>,
): Promise<ReadonlyMap<number, number>> {
  const lag = new Map<number, number>();
  for await (const { partition, records } of batchesOf(reader, topic, { from: committed })) {
    const behind = records.filter((record) => record.offset >= (committed.get(partition) ?? 0)).length;
    if (behind > 0) lag.set(partition, (lag.get(partition) ?? 0) + behind);
  }
  return lag;
}
