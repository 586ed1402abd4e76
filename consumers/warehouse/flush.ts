// Puts bundles of closed ranges into the tables, exactly once:
//   1. announce every bundle in the metadata of an offset commit that does not move the offsets,
//   2. send the dead letters of its records (again after a crash: duplicates have the same id),
//   3. insert the rows of each table, once (insert-once.ts),
//   4. commit the offsets after the ranges.
// After a crash at any point, the same bundle is repeated, and the tables are queried for the rows that they already hold. The token of the
// bundle and the table is a second protection, as long as the engine remembers it. At (1) and (4), the group refuses a member that lost a
// partition. If the last commit is old, the group is asked again before an insert, because this process may have been frozen meanwhile.
import type { DecodedEvent } from '../../schemas/codec.ts';
import { inStep, type ReachPoint } from '../../streams/core/crash-points.ts';
import { isPlatformError } from '../../streams/core/errors.ts';
import type { Outcome } from '../../streams/core/outcome.ts';
import { rowsOf } from '../../streams/core/columns.ts';
import type { Clock, ColumnRows, EventWriter, GroupSession, LogRecord, OutgoingEvent, Row, Rows, Store } from '../../streams/core/ports.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import { tokenOf, type Bundle, type FlushWork } from './bundle.ts';
import { deadLetterEvent, unreadableRow, type Unstorable } from './dead-letter.step.ts';
import { createFence, type Fence } from './fence.ts';
import type { Holdings } from './holdings.ts';
import { insertOnce, placeOfRow, type TableRows } from './insert-once.ts';
import { patiently, type Patience } from './patience.ts';
import type { RangeEntry } from './range.ts';
import { isFaultOfRows, refusedRows } from './refused-rows.ts';
import { originOf, placeOf } from './rows/cells.ts';
import { project } from './rows/project.ts';
import type { TableName } from './rows/tables.ts';
import { turnColumns, type PlainTurn } from './rows/turn-columns.ts';
import { turnRow } from './rows/turn-rows.ts';

export interface TakenRecord extends RangeEntry {
  readonly record: LogRecord;
  readonly outcome: Outcome<DecodedEvent>;
}

export interface FlushDeps {
  readonly store: Store;
  readonly holdings: Holdings;
  readonly deadLetters: EventWriter;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly producer: string;
  readonly deadLetterBytes: number;
  /** Age of the last commit, ms, after which the group is asked again before an insert. */
  readonly fenceMs: number;
  /** Up to this many rows are inserted one table after the other, which leaves the other cores to queries. */
  readonly fewRows: number;
  readonly reach: ReachPoint;
}

/** What a flush uses of its assignment. */
export interface FlushTerms {
  readonly session: GroupSession;
  readonly patience: Patience;
}

interface Flushing extends FlushDeps, FlushTerms {
  readonly fence: Fence;
}

/** How many inserts of a flush run at the same time. */
export const INSERTS_AT_ONCE = 3;
const LETTERS_AT_ONCE = 500;
const LETTER_BYTES_AT_ONCE = 1_000_000;

/** Resolves with the number of rows inserted when all of it is in the tables and committed. */
export async function flush({ bundles, commits }: FlushWork<TakenRecord>, terms: FlushTerms, deps: FlushDeps): Promise<number> {
  const fence = createFence(commits, { ...deps, ...terms });
  const flushing: Flushing = { ...deps, ...terms, fence };
  const { reach } = deps;
  if (bundles.length > 0) await inStep(reach, 'sink.intent', () => fence.ask());
  const inserts: Insert[] = [];
  await inStep(reach, 'sink.letters', async () => {
    for (const bundle of bundles) inserts.push(...(await prepare(bundle, flushing)));
  });
  // The largest first: those are turns, which most readers wait for.
  inserts.sort((a, b) => b.rows.length - a.rows.length);
  const rows = await inStep(reach, 'sink.insert', () => insertAll(inserts, flushing));
  const positions = commits.map(({ topic, partition, next }) => ({ topic, partition, offset: next, metadata: '' }));
  await inStep(reach, 'sink.commit', () => patiently(terms.patience, () => terms.session.commit(positions)));
  return rows;
}

/** Sends the dead letters of a bundle, then returns its inserts. */
async function prepare(bundle: Bundle<TakenRecord>, flushing: Flushing): Promise<readonly Insert[]> {
  const { tables, unstorable } = projectEntries(bundle.entries, flushing.deadLetterBytes);
  await sendDeadLetters(unstorable, flushing);
  return [...tables].map(([table, rows]) => ({ table, rows, bundle, token: tokenOf(bundle, table) }));
}

/** Many rows are inserted by concurrent inserts, so that some are encoded while others are sent. Settles when none is running any more. */
async function insertAll(inserts: readonly Insert[], flushing: Flushing): Promise<number> {
  const waiting = inserts.reduce((sum, { rows }) => sum + rows.length, 0);
  let next = 0;
  let done = 0;
  let inserted = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    for (let work = inserts[next]; work !== undefined && !failed; work = inserts[next]) {
      next += 1;
      const rows = await insertTable(work, flushing);
      inserted += rows;
      done += 1;
      if (done < inserts.length) flushing.reach('sink.insert.mid');
    }
  };
  const lanes = Array.from({ length: waiting > flushing.fewRows ? INSERTS_AT_ONCE : 1 }, async () => {
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

function projectEntries(entries: readonly TakenRecord[], deadLetterBytes: number): Projected {
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
      // Without the error text, which another version may word differently: the audit makes this row again.
      if (record.topic === 'dead-letters') emit('dead_letter_events', unreadableRow({ ...found, error: '' }, deadLetterBytes));
      else unstorable.push(found);
    }
  }
  return { tables: turns === undefined ? tables : new Map<TableName, Rows>([...tables, ['turns', turns]]), unstorable };
}

/** The turns of a bundle as columns, when there are any and all of them are plain. */
function plainTurns(entries: readonly TakenRecord[]): ColumnRows | undefined {
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

/** Sends a few per request, since each may be as large as a record can be. */
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

interface Insert extends TableRows {
  readonly bundle: Bundle<TakenRecord>;
}

async function insertTable(work: Insert, flushing: Flushing): Promise<number> {
  try {
    return await insertOnce(work, flushing);
  } catch (error) {
    if (!isPlatformError(error, 'STORE_REFUSED') || !isFaultOfRows(error)) throw error;
    const rows = rowsOf(work.rows);
    const refused = await refusedRows({ ...work, rows }, flushing);
    if (refused.size === 0) throw error;
    return insertOthers({ ...work, rows, refused }, flushing);
  }
}

/** Inserts the rows that the table accepts, under the token of the whole bundle. */
async function insertOthers(
  work: Insert & { readonly rows: readonly Row[]; readonly refused: ReadonlyMap<Row, string> },
  flushing: Flushing,
): Promise<number> {
  const { table, rows, bundle, refused } = work;
  const byPlace = new Map(bundle.entries.map(({ record }) => [placeOf(record.partition, record.offset), record]));
  const unstorable: Unstorable[] = [];
  const seen = new Set<string>();
  for (const [row, error] of refused) {
    const place = placeOfRow(row);
    const record = byPlace.get(place);
    if (record === undefined || seen.has(place)) continue;
    seen.add(place);
    unstorable.push({ record, reason: 'refused', error, table });
  }
  const others: Row[] = rows.filter((row) => !seen.has(placeOfRow(row)));
  if (bundle.topic === 'dead-letters') others.push(...unstorable.map((one) => unreadableRow(one, flushing.deadLetterBytes)));
  else await sendDeadLetters(unstorable, flushing);
  return others.length > 0 ? insertOnce({ ...work, rows: others }, flushing) : 0;
}
