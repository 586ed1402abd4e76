import type { EventType } from '../../../schemas/generated/events.ts';
import type { DecodedEvent } from '../../../schemas/codec.ts';
import type { LogRecord } from '../../../streams/core/ports.ts';

/** One event, encoded once for all clients that want it. */
export interface EncodedEvent {
  readonly record: Pick<LogRecord, 'topic' | 'partition' | 'offset'>;
  readonly type: EventType;
  readonly runId: string;
  /** JSON on a single line. */
  readonly data: string;
}

const MAX_TEXT = 2_000;
const MAX_ITEMS = 64;

/** The event as JSON without its heavy parts: bytes become their length; long texts and arrays are truncated. */
export function liveEventOf(record: LogRecord, value: DecodedEvent): EncodedEvent {
  const { topic, partition, offset, timestampMs } = record;
  const data = JSON.stringify(
    { topic, partition, offset, timestamp_ms: timestampMs, type: value.type, event: value.event },
    function (key, shown) {
      // Buffers convert themselves to objects before a replacer sees them; the holder still has the bytes.
      const original = (this as Readonly<Record<string, unknown>>)[key];
      return light(original instanceof Uint8Array ? original : (shown as unknown));
    },
  );
  return { record: { topic, partition, offset }, type: value.type, runId: value.event.run_id, data };
}

function light(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: value.length };
  if (typeof value === 'string' && value.length > MAX_TEXT) return `${value.slice(0, MAX_TEXT)}… (${value.length} characters)`;
  if (Array.isArray(value) && value.length > MAX_ITEMS) return [...(value.slice(0, MAX_ITEMS) as unknown[]), `… (${value.length} items)`];
  return value;
}

/** A server-sent event; `data` must be a single line. */
export const frame = (parts: { readonly event: string; readonly id?: string; readonly data: string }): string =>
  `${parts.id === undefined ? '' : `id: ${parts.id}\n`}event: ${parts.event}\ndata: ${parts.data}\n\n`;
