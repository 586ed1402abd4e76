// Decides which records can be stored. A record that cannot becomes an event on dead-letters with the original bytes. A record of
// dead-letters itself never creates another dead letter; it becomes a row, so that there is no endless loop.
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
  /** The table that refused a row of the record; undefined when the record could not be decoded. */
  readonly table?: TableName;
}

export interface DeadLetterContext {
  readonly producer: string;
  readonly nowMs: number;
  /** Maximum bytes of an original value to keep. */
  readonly maxBytes: number;
}

/** Default for the bytes of an original value that a dead letter keeps. */
export const DEAD_LETTER_BYTES = 7_000_000;

const STEP = 'warehouse';
const ERROR_CHARS = 2_000;
/** Limit for the key, and for all headers together, far above legitimate sizes. */
const SIDE_BYTES = 100_000;
/** Limit for the Kafka key of a letter; `original_key` has up to SIDE_BYTES of the key. */
const KEY_BYTES = 1_000;

/** Passes an event that can be decoded and is on the topic of its type. */
export function judgeRecord(read: EventRead): Outcome<DecodedEvent> {
  if (!read.ok) return deadLetter(read.reason, read.error);
  const home = topicOf[read.value.type];
  if (home === read.record.topic) return next(read.value);
  return deadLetter('wrong_topic', `${read.value.type} belongs on ${home}`);
}

/** The same record and table give the same id, so that a dead letter that is sent twice counts once. */
function deadLetterId({ record, table }: Pick<Unstorable, 'record' | 'table'>): string {
  const place = `${record.topic}/${record.partition}/${record.offset}`;
  return table === undefined ? place : `${place}/${table}`;
}

export function deadLetterEvent(unstorable: Unstorable, context: DeadLetterContext): OutgoingEvent {
  const key = unstorable.record.key?.subarray(0, KEY_BYTES).toString('utf8') ?? '';
  return { type: 'DeadLettered', key, event: letterOf(unstorable, context) };
}

/** The row of a record of dead-letters whose event cannot be stored; deterministic. */
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

/** A record may have any timestamp; one that an event cannot represent becomes 0. */
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

/** What was omitted, with enough data to identify the whole: the record itself stays in its own topic. */
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
