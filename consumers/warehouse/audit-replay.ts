// The log's side of a slice: projects every committed record into rows again and adds them to the scratch tables.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { EventRead, EventReader, LogReader, LogRecord, Row, Store } from '../../streams/core/ports.ts';
import { batchesOf, eventsOf } from '../../streams/core/read-log.ts';
import { RowBatch } from './audit-batch.ts';
import { digested, weightOf } from './audit-digest.ts';
import { expectationFrom, type Covered } from './audit-log.ts';
import type { Scratch } from './audit-scratch.ts';
import { endsOf, firstsOf, type OffsetWindow } from './audit-slices.ts';
import { placeOf } from './rows/cells.ts';
import type { TableName } from './rows/tables.ts';

export interface AuditSources {
  readonly reader: LogReader;
  /** Reads the slices; may pass shared texts separately from their records. */
  readonly slices: LogReader;
  readonly events: EventReader;
  readonly store: Store;
  readonly deadLetterBytes: number;
  readonly signal: AbortSignal | undefined;
}

/** What is known of a topic before its slices are compared. */
export interface AuditedTopic {
  readonly topic: EventTopic;
  readonly covered: Covered;
  readonly scratch: Scratch;
}

/** An undecodable record whose dead letter is missing. */
interface Uncovered {
  readonly partition: number;
  readonly offset: number;
  readonly reason: string;
}

export interface Replayed {
  readonly records: number;
  readonly deadLetters: number;
  readonly uncovered: readonly Uncovered[];
}

/** Adds the rows of a slice to the scratch tables. */
export async function replaySlice(
  reading: AuditSources,
  topic: AuditedTopic,
  work: { readonly slice: readonly OffsetWindow[]; readonly onRecords: (records: number) => void },
): Promise<Replayed> {
  const replay = new SliceReplay(reading, topic);
  await replay.run(work.slice, work.onRecords);
  return replay;
}

class SliceReplay implements Replayed {
  readonly uncovered: Uncovered[] = [];
  records = 0;
  deadLetters = 0;
  readonly #reading: AuditSources;
  readonly #topic: AuditedTopic;
  readonly #batch: RowBatch;

  constructor(reading: AuditSources, topic: AuditedTopic) {
    this.#reading = reading;
    this.#topic = topic;
    this.#batch = new RowBatch(topic.scratch);
  }

  async run(slice: readonly OffsetWindow[], onRecords: (records: number) => void): Promise<void> {
    const { slices, signal } = this.#reading;
    try {
      const range = { from: firstsOf(slice), to: endsOf(slice), onSkipped: () => undefined, ...(signal === undefined ? {} : { signal }) };
      for await (const { records } of batchesOf(slices, this.#topic.topic, range)) {
        for (const record of records) {
          // Awaited only when necessary: this runs once per record of the log.
          const waiting = this.#expect(record);
          if (waiting !== undefined) await waiting;
        }
        this.records += records.length;
        await this.#batch.drain();
        onRecords(this.records);
      }
      await this.#batch.finish();
    } finally {
      await this.#batch.drained();
    }
  }

  /** Returns a promise only when it has to wait. */
  #expect(record: LogRecord): Promise<void> | undefined {
    const read = this.#reading.events.read(record);
    if (read instanceof Promise) return read.then((known) => this.#take(record, known));
    return this.#take(record, read);
  }

  #take(record: LogRecord, read: EventRead): Promise<void> | undefined {
    const { covered, scratch } = this.#topic;
    const expectation = expectationFrom(record, read, { covered, deadLetterBytes: this.#reading.deadLetterBytes });
    const { topic, partition, offset } = record;
    if (covered.size > 0 && covered.has(placeOf(partition, offset))) this.deadLetters += 1;
    switch (expectation.kind) {
      case 'rows':
        for (const { table, row } of expectation.rows) {
          this.#batch.add(table, digested(table, row, record.textApart), weightOf(table, row, record.value?.length ?? 0));
        }
        return undefined;
      case 'as-stored': {
        const where = '_topic = {topic:String} and _partition = {partition:Int32} and _offset = {offset:Int64}';
        return scratch.addStored('dead_letter_events', where, { topic, partition, offset });
      }
      case 'uncovered':
        this.uncovered.push({ partition, offset, reason: expectation.reason });
        return undefined;
    }
  }
}

/** The rows that the log gives for a table at a few offsets of one partition. */
export async function rowsAt(
  { reader, events, deadLetterBytes }: AuditSources,
  { topic, covered }: AuditedTopic,
  wanted: { readonly table: TableName; readonly partition: number; readonly offsets: ReadonlySet<number> },
): Promise<readonly Row[]> {
  const { table, partition, offsets } = wanted;
  const rows: Row[] = [];
  if (offsets.size === 0) return rows;
  const range = {
    from: new Map([[partition, Math.min(...offsets)]]),
    to: new Map([[partition, Math.max(...offsets) + 1]]),
    onSkipped: () => undefined,
    wants: (record: LogRecord) => record.partition === partition && offsets.has(record.offset),
  };
  for await (const read of eventsOf({ log: reader, events }, topic, range)) {
    const expectation = expectationFrom(read.record, read, { covered, deadLetterBytes });
    if (expectation.kind === 'rows') rows.push(...expectation.rows.filter((one) => one.table === table).map((one) => one.row));
  }
  return rows;
}
