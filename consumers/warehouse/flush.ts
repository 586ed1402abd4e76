// Puts closed ranges into the tables, exactly once:
//   1. announce every range in the metadata of an offset commit that moves nothing,
//   2. send the dead letters of its records (again after a crash: they carry their identity),
//   3. insert the rows of each table under the token <topic>-<partition>-<min>-<max>-<table>,
//   4. commit what follows the ranges.
// A crash anywhere repeats the same range with the same tokens. A member that lost its partition is refused at (1) and
// (4); it is asked again before an insert when its last commit is long past, since it may have been frozen meanwhile.
import type { DecodedEvent } from '../../schemas/codec.ts';
import type { EventTopic } from '../../schemas/generated/events.ts';
import { inStep, type ReachPoint } from '../../streams/core/crash-points.ts';
import { isPlatformError } from '../../streams/core/errors.ts';
import type { Outcome } from '../../streams/core/outcome.ts';
import { rowsOf } from '../../streams/core/columns.ts';
import type { Clock, ColumnRows, EventWriter, GroupSession, LogRecord, OutgoingEvent, Row, Rows, Store } from '../../streams/core/ports.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import { deadLetterEvent, unreadableRow, type Unstorable } from './dead-letter.step.ts';
import { assertAlive, patiently, type Patience } from './patience.ts';
import { announce, type ClosedRange, type Entry } from './range.ts';
import { isFaultOfRows, refusedRows } from './refused-rows.ts';
import { originOf } from './rows/cells.ts';
import { project } from './rows/project.ts';
import { turnRow } from './rows/rollouts.rows.ts';
import type { TableName } from './rows/tables.ts';
import { turnColumns, type PlainTurn } from './rows/turn-columns.ts';

export interface Taken extends Entry {
  readonly record: LogRecord;
  readonly outcome: Outcome<DecodedEvent>;
}

export interface PartitionRange {
  readonly topic: EventTopic;
  readonly partition: number;
  readonly range: ClosedRange<Taken>;
}

export interface FlushDeps {
  readonly store: Store;
  readonly deadLetters: EventWriter;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly producer: string;
  readonly deadLetterBytes: number;
  /** Age of the last commit, ms, after which the group is asked again before an insert. */
  readonly fenceMs: number;
  readonly reach: ReachPoint;
}

interface Flushing extends FlushDeps {
  readonly session: GroupSession;
  readonly patience: Patience;
  readonly work: readonly PartitionRange[];
  fencedAtMs: number;
}

const INSERTS_AT_ONCE = 3;
const LETTERS_AT_ONCE = 500;
const LETTER_BYTES_AT_ONCE = 1_000_000;

/** Resolves with the number of rows inserted when all of it is in the tables and committed. */
export async function flush(
  work: readonly PartitionRange[],
  turn: { readonly session: GroupSession; readonly patience: Patience },
  deps: FlushDeps,
): Promise<number> {
  const flushing: Flushing = { ...deps, ...turn, work: work.filter(({ range }) => range.entries.length > 0), fencedAtMs: 0 };
  const { reach } = deps;
  if (flushing.work.length > 0) await inStep(reach, 'sink.intent', () => announceRanges(flushing));
  const inserts: TableRows[] = [];
  await inStep(reach, 'sink.letters', async () => {
    for (const ranged of flushing.work) inserts.push(...(await prepareRange(ranged, flushing)));
  });
  const rows = await inStep(reach, 'sink.insert', () => insertAll(inserts, flushing));
  const positions = work.map(({ topic, partition, range }) => ({ topic, partition, offset: range.next, metadata: '' }));
  await inStep(reach, 'sink.commit', () => patiently(turn.patience, () => turn.session.commit(positions)));
  return rows;
}

async function announceRanges(flushing: Flushing): Promise<void> {
  const positions = flushing.work.map(({ topic, partition, range }) => {
    return { topic, partition, offset: range.from, metadata: announce(range) };
  });
  await patiently(flushing.patience, async () => {
    const askedAtMs = flushing.clock.now();
    await flushing.session.commit(positions);
    flushing.fencedAtMs = askedAtMs;
  });
}

/** Its dead letters are out when the rows to be inserted are known. */
async function prepareRange(ranged: PartitionRange, flushing: Flushing): Promise<readonly TableRows[]> {
  const { tables, unstorable } = projectRange(ranged.range.entries, flushing.deadLetterBytes);
  await sendDeadLetters(unstorable, flushing);
  return [...tables].map(([table, rows]) => ({ table, rows, ranged }));
}

/** A few at a time, so that rows are encoded while others go in. Ends when none is under way, failed or not. */
async function insertAll(inserts: readonly TableRows[], flushing: Flushing): Promise<number> {
  let next = 0;
  let done = 0;
  let inserted = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    for (let work = inserts[next]; work !== undefined && !failed; work = inserts[next]) {
      next += 1;
      if (flushing.clock.now() - flushing.fencedAtMs > flushing.fenceMs) await announceRanges(flushing);
      const rows = await insertTable(work, flushing);
      inserted += rows;
      done += 1;
      if (done < inserts.length) flushing.reach('sink.insert.mid');
    }
  };
  const lanes = Array.from({ length: INSERTS_AT_ONCE }, async () => {
    try {
      await lane();
    } catch (error) {
      failed = true;
      throw error;
    }
  });
  const ended = await Promise.allSettled(lanes);
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
  return inserted;
}

interface Projected {
  readonly tables: ReadonlyMap<TableName, Rows>;
  readonly unstorable: readonly Unstorable[];
}

function projectRange(entries: readonly Taken[], deadLetterBytes: number): Projected {
  const tables = new Map<TableName, Row[]>();
  const unstorable: Unstorable[] = [];
  const turns = plainTurns(entries);
  const emit = (table: TableName, row: Row): void => {
    const rows = tables.get(table);
    if (rows === undefined) tables.set(table, [row]);
    else rows.push(row);
  };
  for (const { record, outcome } of entries) {
    if (outcome.kind === 'next') {
      if (turns === undefined || outcome.value.type !== 'TurnRecorded') project(record, outcome.value, emit);
    } else {
      const found = { record, reason: outcome.reason, error: String(outcome.cause) };
      // Without the error text, which may read differently in another version: the audit makes this row again.
      if (record.topic === 'dead-letters') emit('dead_letter_events', unreadableRow({ ...found, error: '' }, deadLetterBytes));
      else unstorable.push(found);
    }
  }
  return { tables: turns === undefined ? tables : new Map<TableName, Rows>([...tables, ['turns', turns]]), unstorable };
}

/** The turns of a range as columns, when there are any and all of them are plain. */
function plainTurns(entries: readonly Taken[]): ColumnRows | undefined {
  const turns: PlainTurn[] = [];
  for (const { record, outcome } of entries) {
    if (outcome.kind !== 'next' || outcome.value.type !== 'TurnRecorded') continue;
    const decoded = outcome.value;
    if (decoded.plain === undefined) return undefined;
    turns.push({ record, decoded, plain: decoded.plain });
  }
  if (turns.length === 0) return undefined;
  return {
    length: turns.length,
    columns: () => turnColumns(turns),
    rows: () => turns.map(({ record, decoded }) => turnRow(decoded.event, originOf(record))),
  };
}

/** In requests of a few at a time, since each may be as large as a record can be. */
async function sendDeadLetters(unstorable: readonly Unstorable[], flushing: Flushing): Promise<void> {
  const context = { producer: flushing.producer, nowMs: flushing.clock.now(), maxBytes: flushing.deadLetterBytes };
  let letters: OutgoingEvent[] = [];
  let bytes = 0;
  const send = async (): Promise<void> => {
    const sending = letters;
    letters = [];
    bytes = 0;
    if (sending.length > 0) await patiently(flushing.patience, () => flushing.deadLetters.append(sending));
  };
  for (const one of unstorable) {
    letters.push(deadLetterEvent(one, context));
    bytes += one.record.value?.length ?? 0;
    flushing.metrics.count('sink_dead_letters_total', { reason: one.reason });
    if (letters.length >= LETTERS_AT_ONCE || bytes >= LETTER_BYTES_AT_ONCE) await send();
  }
  await send();
}

interface TableRows {
  readonly table: TableName;
  readonly rows: Rows;
  readonly ranged: PartitionRange;
}

async function insertTable(work: TableRows, flushing: Flushing): Promise<number> {
  const { table, rows, ranged } = work;
  const { topic, partition, range } = ranged;
  const token = `${topic}-${partition}-${range.min}-${range.max}-${table}`;
  try {
    await insert({ table, rows, token }, flushing);
    return rows.length;
  } catch (error) {
    if (!isPlatformError(error, 'STORE_REFUSED') || !isFaultOfRows(error)) throw error;
    const single = rowsOf(rows);
    const refused = await refusedRows({ table, rows: single, token }, flushing);
    if (refused.size === 0) throw error;
    return insertOthers({ table, rows: single, ranged, refused, token }, flushing);
  }
}

/**
 * The rows that the table takes, under the token of the whole range: a repeat that finds the table willing after all
 * changes nothing, since the token is used.
 */
async function insertOthers(
  work: TableRows & { readonly rows: readonly Row[]; readonly refused: ReadonlyMap<Row, string>; readonly token: string },
  flushing: Flushing,
): Promise<number> {
  const { table, rows, ranged, refused, token } = work;
  const byOffset = new Map(ranged.range.entries.map((entry) => [entry.offset, entry.record]));
  const unstorable: Unstorable[] = [];
  const seen = new Set<number>();
  for (const [row, error] of refused) {
    const offset = Number(row['_offset']);
    const record = byOffset.get(offset);
    if (record === undefined || seen.has(offset)) continue;
    seen.add(offset);
    unstorable.push({ record, reason: 'refused', error, table });
  }
  const others: Row[] = rows.filter((row) => !seen.has(Number(row['_offset'])));
  if (ranged.topic === 'dead-letters') others.push(...unstorable.map((one) => unreadableRow(one, flushing.deadLetterBytes)));
  else await sendDeadLetters(unstorable, flushing);
  if (others.length > 0) await insert({ table, rows: others, token }, flushing);
  return others.length;
}

async function insert(
  { table, rows, token }: { readonly table: TableName; readonly rows: Rows; readonly token: string },
  flushing: Flushing,
): Promise<void> {
  const startedMs = flushing.clock.now();
  await patiently(flushing.patience, () => flushing.store.insert(table, rows, token));
  assertAlive(flushing.patience);
  flushing.metrics.count('sink_rows_total', { table }, rows.length);
  flushing.metrics.count('sink_inserts_total', { table });
  flushing.metrics.observe('sink_insert_seconds', { table }, (flushing.clock.now() - startedMs) / 1_000);
}
