// Which records can be stored, and what becomes of those that cannot: an event on dead-letters with the original bytes.
// A record of dead-letters itself never makes another one; it becomes a row, so that nothing can go round for ever.
import { createHash } from 'node:crypto';
import type { DecodedEvent } from '../../schemas/codec.ts';
import type { DeadLettered, Header } from '../../schemas/generated/events.ts';
import { topicOf } from '../../schemas/subjects.ts';
import { parseRunId } from '../../streams/core/ids.ts';
import { deadLetter, next, type Outcome } from '../../streams/core/outcome.ts';
import type { EventRead, LogRecord, OutgoingEvent, Row } from '../../streams/core/ports.ts';
import { runOf } from '../../streams/core/read-log.ts';
import { originOf } from './rows/cells.ts';
import { deadLetterRow } from './rows/dead-letters.rows.ts';
import type { TableName } from './rows/tables.ts';

export interface Unstorable {
  readonly record: LogRecord;
  readonly reason: string;
  readonly error: string;
  /** The table that refused a row of it; none when it could not be read at all. */
  readonly table?: TableName;
}

export interface DeadLetterContext {
  readonly producer: string;
  readonly nowMs: number;
  /** Bytes of an original value that are kept at most. */
  readonly maxBytes: number;
}

/** Bytes of an original value that a dead letter keeps, unless it is told otherwise. */
export const DEAD_LETTER_BYTES = 7_000_000;

const STEP = 'warehouse';
const ERROR_CHARS = 2_000;
/** Keys and headers together, which nobody makes this long in good faith. */
const SIDE_BYTES = 100_000;
/** Of the key that decides the partition; the whole key is in the letter. */
const KEY_BYTES = 1_000;

/** Lets an event pass that can be read and lies on the topic of its type. */
export function judgeRecord(read: EventRead): Outcome<DecodedEvent> {
  if (!read.ok) return deadLetter(read.reason, read.error);
  const home = topicOf[read.value.type];
  if (home === read.record.topic) return next(read.value);
  return deadLetter('wrong_topic', `${read.value.type} belongs on ${home}`);
}

/** The same record and table give the same id, so that a dead letter sent twice counts once. */
function deadLetterId({ record, table }: Pick<Unstorable, 'record' | 'table'>): string {
  const place = `${record.topic}/${record.partition}/${record.offset}`;
  return table === undefined ? place : `${place}/${table}`;
}

export function deadLetterEvent(unstorable: Unstorable, context: DeadLetterContext): OutgoingEvent {
  const key = unstorable.record.key?.subarray(0, KEY_BYTES).toString('utf8') ?? '';
  return { type: 'DeadLettered', key, event: letterOf(unstorable, context) };
}

/** The row of a record of dead-letters that cannot be stored as what it claims to be; the same whenever it is made. */
export function unreadableRow(unstorable: Unstorable, maxBytes: number): Row {
  const event = letterOf(unstorable, { producer: STEP, nowMs: unstorable.record.timestampMs, maxBytes });
  return deadLetterRow(event, originOf(unstorable.record));
}

function letterOf(unstorable: Unstorable, context: DeadLetterContext): DeadLettered {
  const { record, reason } = unstorable;
  const headers = fittingHeaders(record);
  const runId = parseRunId(runOf(record));
  return {
    event_id: deadLetterId(unstorable),
    run_id: runId ?? '',
    occurred_at: microsOf(context.nowMs),
    producer: context.producer,
    original_topic: record.topic,
    original_partition: record.partition,
    original_offset: record.offset,
    original_key: record.key?.subarray(0, SIDE_BYTES) ?? null,
    original_value: record.value?.subarray(0, context.maxBytes) ?? null,
    original_headers: headers,
    original_timestamp: microsOf(record.timestampMs),
    step: STEP,
    reason,
    error: `${unstorable.error.slice(0, ERROR_CHARS)}${cutNote(record, headers, context.maxBytes)}`,
  };
}

/** A producer may claim any time; one that no event can carry counts as the epoch. */
function microsOf(ms: number): number {
  const micros = Math.trunc(ms) * 1_000;
  return Number.isSafeInteger(micros) ? micros : 0;
}

function fittingHeaders(record: LogRecord): readonly Header[] {
  let bytes = 0;
  return Object.entries(record.headers).flatMap(([name, value]) => {
    bytes += name.length + value.length;
    return bytes <= SIDE_BYTES ? [{ name, value }] : [];
  });
}

/** What was left out, with enough to recognise the whole: the record itself stays in its own topic. */
function cutNote(record: LogRecord, headers: readonly Header[], maxBytes: number): string {
  const notes: string[] = [];
  if (record.value !== null && record.value.length > maxBytes) {
    const sha256 = createHash('sha256').update(record.value).digest('hex');
    notes.push(`value cut to ${maxBytes} of ${record.value.length} bytes (sha256 ${sha256})`);
  }
  if (record.key !== null && record.key.length > SIDE_BYTES) notes.push(`key cut to ${SIDE_BYTES} of ${record.key.length} bytes`);
  const missing = Object.keys(record.headers).length - headers.length;
  if (missing > 0) notes.push(`${missing} headers left out`);
  return notes.length === 0 ? '' : ` [${notes.join('; ')}]`;
}
