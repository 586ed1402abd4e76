// An event as a Kafka message: key, framed Avro value, and the CloudEvents Kafka binding in binary mode as headers.
import type { Codec } from '../../../schemas/codec.ts';
import { publishedSchemas, type EventTopic, type EventType } from '../../../schemas/generated/events.ts';
import { fullNameOf, topicOf } from '../../../schemas/subjects.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { OutgoingEvent } from '../../../streams/core/ports.ts';

/** Maximum record batch size of a topic and of the local broker, bytes. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/** Maximum size of a written record, bytes of key, value and headers together; it fits every topic that `topics apply` creates. */
export const MAX_RECORD_BYTES = 8_000_000;

export type HeaderValues = Readonly<Record<string, string | Buffer>>;

export interface OutgoingMessage {
  readonly topic: EventTopic;
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: number;
}

/** A record with exactly these bytes. Its partition follows from the key unless given. */
export interface RawRecord {
  readonly key: Buffer | string | null;
  readonly value: Buffer | null;
  readonly headers?: HeaderValues;
  readonly partition?: number;
}

const typeNames = new Map<EventType, string>(publishedSchemas.map((entry) => [entry.name, fullNameOf(entry)]));

/** Encodes an event. Throws RECORD_TOO_LARGE when no topic would accept it. */
export function messageOf(outgoing: OutgoingEvent, context: { readonly codec: Codec; readonly namespace: string }): OutgoingMessage {
  const { type, key, event, traceparent } = outgoing;
  const value = encode(context.codec, outgoing);
  const headers: Record<string, string> = {
    ce_specversion: '1.0',
    ce_id: event.event_id,
    ce_type: typeNames.get(type) ?? type,
    ce_source: `/${context.namespace}/${encodeURIComponent(event.producer)}`,
    ce_time: isoMicros(event.occurred_at),
    'content-type': 'application/avro',
    'run-id': event.run_id,
  };
  if (traceparent !== undefined) headers['traceparent'] = traceparent;
  const bytes = recordBytes({ key, value, headers });
  if (bytes > MAX_RECORD_BYTES) {
    throw new PlatformError('RECORD_TOO_LARGE', `writing ${type} ${event.event_id}: ${bytes} bytes, ${MAX_RECORD_BYTES} at most`);
  }
  return { topic: topicOf[type], key, value, headers, bytes };
}

/** The type and the event belong together, which the compiler cannot see through the union. */
const encode = (codec: Codec, outgoing: OutgoingEvent): Buffer =>
  (codec.encode as (type: EventType, event: unknown) => Buffer)(outgoing.type, outgoing.event);

const PER_RECORD_OVERHEAD = 32;

/** Upper bound of the size of this record in the log before compression, bytes. */
export function recordBytes(record: Pick<RawRecord, 'key' | 'value' | 'headers'>): number {
  let bytes = PER_RECORD_OVERHEAD + lengthOf(record.key) + lengthOf(record.value);
  for (const name in record.headers) bytes += name.length + lengthOf(record.headers[name] ?? null) + 4;
  return bytes;
}

function lengthOf(value: string | Buffer | null): number {
  if (value === null) return 0;
  return typeof value === 'string' ? Buffer.byteLength(value) : value.length;
}

/** RFC 3339 with microseconds. Our largest Avro long is in the year 2255, so every value has a calendar date. */
function isoMicros(micros: number): string {
  const ms = Math.floor(micros / 1000);
  return `${new Date(ms).toISOString().slice(0, -1)}${String(micros - ms * 1000).padStart(3, '0')}Z`;
}
