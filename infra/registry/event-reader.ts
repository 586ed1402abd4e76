// Decodes records to events. A schema id that the codec does not know is looked up in the registry, and the result is cached, also a
// negative one, so that a flood of foreign records costs one lookup per second instead of one each. A record that was retried from
// dead-letters is always looked up: its schema has probably been registered since.
import type { Codec, DecodeResult, ValuePlace } from '../../schemas/codec.ts';
import { LETTER_HEADER, schemaIdOf } from '../../schemas/framing.ts';
import { messageOf } from '../../streams/core/errors.ts';
import type { Clock, EventDecoder, EventRead, LogRecord, SchemaRegistry } from '../../streams/core/ports.ts';
import { systemClock } from '../lifecycle/clock.ts';

/** How long a schema id stays cached as unknown, ms. */
const UNKNOWN_MS = 1_000;

/** Maximum number of cached unknown ids; one more clears the cache. */
const UNKNOWN_MAX = 10_000;

/**
 * An unreadable record is a result with a reason. An outage of the registry is not: then `read` rejects with a retriable error,
 * because the record may be valid.
 */
export function createEventReader(
  codec: Codec,
  registry: Pick<SchemaRegistry, 'byId'>,
  clock: Pick<Clock, 'monotonic'> = systemClock,
): EventDecoder {
  const unknownSince = new Map<number, number>();

  const isUnknown = (id: number): boolean => (unknownSince.get(id) ?? -Infinity) + UNKNOWN_MS > clock.monotonic();

  async function learn(id: number): Promise<void> {
    const schema = await registry.byId(id);
    if (schema !== undefined && learnt(codec, id, schema)) return;
    if (unknownSince.size >= UNKNOWN_MAX) unknownSince.clear();
    unknownSince.set(id, clock.monotonic());
  }

  /** The schema id of a record, unless the codec knows it. */
  function unknownIdOf(record: LogRecord): number | undefined {
    const place = placeOf(record);
    const id = place === undefined ? undefined : schemaIdOf(place.bytes, place.start, place.end);
    return id === undefined || codec.knows(id) ? undefined : id;
  }

  function decode(record: LogRecord): EventRead {
    const place = placeOf(record);
    if (place === undefined) return { ok: false, record, reason: 'empty', error: 'the record has no value' };
    return resultOf(record, codec.decode(place.bytes, place.start, place.end));
  }

  return {
    read(record) {
      const read = decode(record);
      if (read.ok || read.reason !== 'unknown_schema') return read;
      const id = unknownIdOf(record);
      if (id === undefined || (isUnknown(id) && !(LETTER_HEADER in record.headers))) return read;
      return learn(id).then(() => decode(record));
    },
    knows: (record) => unknownIdOf(record) === undefined,
    decode,
  };
}

const placeOf = (record: LogRecord): ValuePlace | undefined => record.placeOfValue?.() ?? wholeOf(record.value);

const wholeOf = (value: Buffer | null): ValuePlace | undefined =>
  value === null ? undefined : { bytes: value, start: 0, end: value.length };

/** A text that is not a valid schema counts as missing. */
function learnt(codec: Codec, id: number, schema: string): boolean {
  try {
    return codec.learn(id, schema);
  } catch {
    return false;
  }
}

const resultOf = (record: LogRecord, decoded: DecodeResult): EventRead =>
  decoded.ok ? { ok: true, record, value: decoded.value } : { ok: false, record, reason: decoded.reason, error: messageOf(decoded.cause) };
