// Compares the log with the tables, partition by partition and table by table: every committed record is made into rows
// again, and both sides must have the same number of rows and the same checksum. Rows that differ are named.
//
// Only what the sink has committed is compared, so it may go on meanwhile; what it has not is reported as lag. Rows whose
// record has left the log by retention cannot be compared and are not. Nothing but scratch tables is written, and they
// are dropped whatever happens.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { Clock, EventRead, EventReader, GroupOffsets, LogReader, LogRecord, Row, Store } from '../../streams/core/ports.ts';
import { RowBatch } from './audit-batch.ts';
import { logSide, partings, rowsAbove, tableSides, type Compared, type Parting, type Side, type Window } from './audit-compare.ts';
import { coveredRecords, expectationFrom, lagOf, type Covered } from './audit-log.ts';
import { changedColumns, type ColumnDifference } from './audit-rows.ts';
import { createScratch, dropLeftOvers, type Scratch } from './audit-scratch.ts';
import { DEAD_LETTER_BYTES } from './dead-letter.step.ts';
import { placeOf } from './rows/cells.ts';
import { tablesOf, warehouseTopics, type TableName } from './rows/tables.ts';

export interface AuditDeps {
  readonly reader: LogReader;
  readonly events: EventReader;
  readonly offsets: GroupOffsets;
  readonly store: Store;
  readonly clock: Clock;
  /** Consumer group of the sink, with its namespace. */
  readonly group: string;
  readonly onProgress?: (progress: { readonly topic: EventTopic; readonly records: number; readonly of: number }) => void;
  readonly options?: AuditOptions;
}

export interface AuditOptions {
  /** Differing rows that are named at most, over all tables. */
  readonly differences?: number;
  /** A sink that is behind is no failure. */
  readonly allowLag?: boolean;
  /** How long to wait for the sink to catch up with the log as it was when the audit began. */
  readonly waitMs?: number;
  readonly deadLetterBytes?: number;
}

interface AuditedTable {
  readonly topic: string;
  readonly partition: number;
  readonly table: TableName;
  readonly logRows: number;
  readonly tableRows: number;
  readonly logChecksum: string;
  readonly tableChecksum: string;
  readonly equal: boolean;
}

export interface Difference {
  /** `missing` and `extra` rows by number, `changed` by value, `uncovered` = an unreadable record without its dead letter. */
  readonly kind: 'missing' | 'extra' | 'changed' | 'uncovered';
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly table: TableName;
  readonly logRows: number;
  readonly tableRows: number;
  readonly columns: readonly ColumnDifference[];
}

export interface AuditResult {
  readonly ok: boolean;
  readonly topics: readonly AuditedTable[];
  readonly differences: readonly Difference[];
  /** More rows differ than are named. */
  readonly moreDifferences: boolean;
  readonly records: number;
  readonly deadLetters: number;
  /** Records that the sink has yet to store. */
  readonly lag: readonly { readonly topic: EventTopic; readonly partition: number; readonly records: number }[];
}

const POLL_MS = 100;

interface Reading {
  readonly events: EventReader;
  readonly deadLetterBytes: number;
}

interface Expecting {
  readonly covered: Covered;
  readonly scratch: Scratch;
  readonly batch: RowBatch;
  readonly reading: Reading;
}

/** Answers with what it found; throws only when it cannot look. */
export async function audit(deps: AuditDeps): Promise<AuditResult> {
  const auditor = new Auditor(deps);
  return auditor.run();
}

class Auditor {
  readonly #deps: AuditDeps;
  readonly #limit: number;
  readonly #tables: AuditedTable[] = [];
  readonly #differences: Difference[] = [];
  readonly #lag: { topic: EventTopic; partition: number; records: number }[] = [];
  #records = 0;
  #deadLetters = 0;
  #more = false;

  constructor(deps: AuditDeps) {
    this.#deps = deps;
    this.#limit = deps.options?.differences ?? 20;
  }

  async run(): Promise<AuditResult> {
    await dropLeftOvers(this.#deps.store, this.#deps.clock.now());
    await this.#awaitSink();
    for (const topic of warehouseTopics) await this.#auditTopic(topic);
    const differences = this.#certain();
    const equal = differences.length === 0 && this.#tables.every((table) => table.equal);
    return {
      ok: equal && (this.#lag.length === 0 || this.#deps.options?.allowLag === true),
      topics: this.#tables,
      differences,
      moreDifferences: this.#more,
      records: this.#records,
      deadLetters: this.#deadLetters,
      lag: this.#lag,
    };
  }

  /** While dead-letters lags, a dead letter that is not in its table may be on its way. */
  #certain(): readonly Difference[] {
    const lettersLag = this.#lag.some(({ topic }) => topic === 'dead-letters');
    return lettersLag ? this.#differences.filter(({ kind }) => kind !== 'uncovered') : this.#differences;
  }

  async #awaitSink(): Promise<void> {
    const deadlineMs = this.#deps.clock.monotonic() + (this.#deps.options?.waitMs ?? 0);
    for (const topic of warehouseTopics) {
      while (this.#deps.clock.monotonic() < deadlineMs) {
        const behind = await lagOf(this.#deps.reader, topic, committedOf(await this.#windows(topic)));
        if (behind.size === 0) break;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    }
  }

  async #windows(topic: EventTopic): Promise<readonly Window[]> {
    const bounds = await this.#deps.reader.bounds(topic);
    const offsets = await this.#deps.offsets.fetch(this.#deps.group, topic);
    return bounds.map(({ partition, first }) => {
      const committed = offsets.find((one) => one.partition === partition)?.offset ?? -1;
      return { partition, first, committed: Math.max(committed, first) };
    });
  }

  async #auditTopic(topic: EventTopic): Promise<void> {
    const { store, clock } = this.#deps;
    const windows = await this.#windows(topic);
    const covered = await coveredRecords(store, topic);
    const scratch = createScratch(store, clock.now());
    // What is committed does not change, so the store may look at it while this process replays.
    const looking = tableSides({ store, topic, windows });
    const looked = Promise.allSettled([looking]);
    try {
      await this.#replay(topic, { windows, covered, scratch });
      for (const [table, sides] of await looking) {
        await this.#compare({ store, topic, table, windows, hashes: scratch.hashes(table) }, { covered, ofTable: bySide(sides) });
      }
    } finally {
      await looked;
      await scratch.drop();
    }
    await this.#lookAbove(topic);
  }

  /** Makes the rows of every committed record again, and counts the records that are not. */
  async #replay(
    topic: EventTopic,
    context: { readonly windows: readonly Window[]; readonly covered: Covered; readonly scratch: Scratch },
  ): Promise<void> {
    const committed = committedOf(context.windows);
    const total = context.windows.reduce((sum, window) => sum + window.committed - window.first, 0);
    const batch = new RowBatch(context.scratch);
    const lag = new Map<number, number>();
    let records = 0;
    const expecting = { ...context, batch, reading: this.#reading() };
    const replayAll = async (found: readonly LogRecord[]): Promise<void> => {
      for (const record of found) {
        if (record.offset >= (committed.get(record.partition) ?? 0)) {
          lag.set(record.partition, (lag.get(record.partition) ?? 0) + 1);
          continue;
        }
        records += 1;
        // Awaited only where there is something to wait for: this runs once a record of the log.
        const waiting = this.#expect(record, expecting);
        if (waiting !== undefined) await waiting;
      }
    };
    try {
      await this.#deps.reader.readToEnd(topic, {
        onBatch: async ({ records: found }) => {
          await replayAll(found);
          await batch.drain();
          this.#deps.onProgress?.({ topic, records, of: total });
        },
      });
      await batch.finish();
    } finally {
      await batch.settled();
    }
    this.#records += records;
    for (const [partition, behind] of lag) this.#lag.push({ topic, partition, records: behind });
  }

  /** Answers a promise only when it has to wait. */
  #expect(record: LogRecord, context: Expecting): Promise<void> | undefined {
    const read = context.reading.events.read(record);
    if (read instanceof Promise) return read.then((known) => this.#take(record, known, context));
    return this.#take(record, read, context);
  }

  #take(record: LogRecord, read: EventRead, context: Expecting): Promise<void> | undefined {
    const expectation = expectationFrom(record, read, { covered: context.covered, ...context.reading });
    const { topic, partition, offset } = record;
    if (context.covered.size > 0 && context.covered.has(placeOf(partition, offset))) this.#deadLetters += 1;
    if (expectation.kind === 'rows') {
      for (const { table, row } of expectation.rows) context.batch.add(table, row, record.value?.length ?? 0);
      return undefined;
    }
    if (expectation.kind === 'as-stored') {
      const where = '_topic = {topic:String} and _partition = {partition:Int32} and _offset = {offset:Int64}';
      return context.scratch.addStored('dead_letter_events', where, { topic, partition, offset });
    }
    const columns = [{ column: 'reason', log: expectation.reason, table: '' }];
    const place = { topic, partition, offset, table: 'dead_letter_events' } as const;
    this.#name({ kind: 'uncovered', ...place, logRows: 1, tableRows: 0, columns });
    return undefined;
  }

  #reading(): Reading {
    return { events: this.#deps.events, deadLetterBytes: this.#deps.options?.deadLetterBytes ?? DEAD_LETTER_BYTES };
  }

  async #compare(
    compared: Compared,
    { covered, ofTable }: { readonly covered: Covered; readonly ofTable: ReadonlyMap<string, Side> },
  ): Promise<void> {
    const ofLog = bySide(await logSide(compared));
    for (const key of [...new Set([...ofLog.keys(), ...ofTable.keys()])].sort()) {
      const audited = auditedTable(compared.table, ofLog.get(key), ofTable.get(key));
      this.#tables.push(audited);
      if (!audited.equal) await this.#nameDifferences(compared, audited, covered);
    }
  }

  async #nameDifferences(compared: Compared, side: Place, covered: Covered): Promise<void> {
    const { topic, partition } = side;
    const { table, store } = compared;
    const found = await partings(compared, side, this.#limit + 1);
    const changed = found.filter(({ logRows, tableRows }) => logRows > 0 && logRows === tableRows).slice(0, this.#limit);
    const offsets = changed.map(({ offset }) => offset);
    const rows = await this.#rowsOf(compared, { partition, offsets: new Set(offsets) }, covered);
    const columns = offsets.length === 0 ? new Map() : await changedColumns(store, { topic, partition, table, offsets }, rows);
    for (const parting of found) {
      const named = (columns.get(parting.offset) ?? []) as readonly ColumnDifference[];
      this.#name({ kind: kindOf(parting), topic, partition, table, ...parting, columns: named });
    }
  }

  /** The rows that the log gives for a few offsets. */
  async #rowsOf(
    { topic, table, windows }: Compared,
    wanted: { readonly partition: number; readonly offsets: ReadonlySet<number> },
    covered: Covered,
  ): Promise<readonly Row[]> {
    const rows: Row[] = [];
    if (wanted.offsets.size === 0) return rows;
    const lowest = Math.min(...wanted.offsets);
    const from = new Map(windows.map((window) => [window.partition, window.partition === wanted.partition ? lowest : window.committed]));
    const take = async (record: LogRecord): Promise<void> => {
      if (record.partition !== wanted.partition || !wanted.offsets.has(record.offset)) return;
      const reading = this.#reading();
      const expectation = expectationFrom(record, await reading.events.read(record), { covered, ...reading });
      if (expectation.kind === 'rows') rows.push(...expectation.rows.filter((one) => one.table === table).map((one) => one.row));
    };
    await this.#deps.reader.readToEnd(topic, {
      from,
      onBatch: async ({ records }) => {
        for (const record of records) await take(record);
      },
    });
    return rows;
  }

  /** No row may come from beyond the end of the log. The end is asked for again, since both go on. */
  async #lookAbove(topic: EventTopic): Promise<void> {
    for (const table of tablesOf(topic)) {
      const compared = { store: this.#deps.store, topic, table };
      const suspects = await rowsAbove(compared, await this.#ends(topic), this.#limit + 1);
      if (suspects.length === 0) continue;
      const ends = await this.#ends(topic);
      for (const { partition, offset } of suspects) {
        if (offset < (ends.get(partition) ?? 0)) continue;
        this.#name({ kind: 'extra', topic, partition, offset, table, logRows: 0, tableRows: 1, columns: [] });
      }
    }
  }

  async #ends(topic: EventTopic): Promise<ReadonlyMap<number, number>> {
    const bounds = await this.#deps.reader.bounds(topic);
    return new Map(bounds.map(({ partition, end }) => [partition, end]));
  }

  #name(difference: Difference): void {
    if (this.#differences.length < this.#limit) this.#differences.push(difference);
    else this.#more = true;
  }
}

const committedOf = (windows: readonly Window[]): ReadonlyMap<number, number> =>
  new Map(windows.map((window) => [window.partition, window.committed]));

type Place = Pick<Side, 'topic' | 'partition'>;

const bySide = (sides: readonly Side[]): ReadonlyMap<string, Side> =>
  new Map(sides.map((side) => [`${side.topic}/${String(side.partition).padStart(6, '0')}`, side]));

const NOTHING: Side = { topic: '', partition: 0, rows: 0, checksum: '' };

function auditedTable(table: TableName, log: Side | undefined, stored: Side | undefined): AuditedTable {
  const { topic, partition } = log ?? stored ?? NOTHING;
  const [ofLog, ofTable] = [log ?? NOTHING, stored ?? NOTHING];
  return {
    topic,
    partition,
    table,
    logRows: ofLog.rows,
    tableRows: ofTable.rows,
    logChecksum: ofLog.checksum,
    tableChecksum: ofTable.checksum,
    equal: ofLog.rows === ofTable.rows && ofLog.checksum === ofTable.checksum,
  };
}

function kindOf({ logRows, tableRows }: Parting): Difference['kind'] {
  if (logRows === tableRows) return 'changed';
  return logRows > tableRows ? 'missing' : 'extra';
}
