// Records to events. A schema id that the codec does not know is asked for at the registry and remembered, also when the
// registry does not know it, so that a flood of strange records costs one question a second and not one each. A record that
// was put back from dead-letters is always asked for: most likely its schema is there by now, maybe only just.
import type { Codec, DecodeResult } from '../../schemas/codec.ts';
import { LETTER_HEADER } from '../../schemas/framing.ts';
import { messageOf } from '../../streams/core/errors.ts';
import type { Clock, EventRead, EventReader, LogRecord, SchemaRegistry } from '../../streams/core/ports.ts';
import { systemClock } from '../lifecycle/clock.ts';

/** How long a schema id counts as unknown, ms. */
const UNKNOWN_MS = 1_000;

/** Unknown ids that are remembered at most; more of them are asked for again. */
const UNKNOWN_MAX = 10_000;

/**
 * What cannot be read is a result with a reason. An outage of the registry is not: then `read` rejects with a retriable
 * error, because the record may well be good.
 */
export function createEventReader(
  codec: Codec,
  registry: Pick<SchemaRegistry, 'byId'>,
  clock: Pick<Clock, 'monotonic'> = systemClock,
): EventReader {
  const unknownSince = new Map<number, number>();

  const isUnknown = (id: number): boolean => (unknownSince.get(id) ?? -Infinity) + UNKNOWN_MS > clock.monotonic();

  async function learn(id: number): Promise<void> {
    const schema = await registry.byId(id);
    if (schema !== undefined && learnt(codec, id, schema)) return;
    if (unknownSince.size >= UNKNOWN_MAX) unknownSince.clear();
    unknownSince.set(id, clock.monotonic());
  }

  async function readUnknown(record: LogRecord, value: Buffer, id: number): Promise<EventRead> {
    if (LETTER_HEADER in record.headers || !isUnknown(id)) await learn(id);
    return resultOf(record, codec.decode(value));
  }

  return {
    read(record) {
      const { value } = record;
      if (value === null) return { ok: false, record, reason: 'empty', error: 'the record has no value' };
      const decoded = codec.decode(value);
      if (decoded.ok || decoded.reason !== 'unknown_schema' || decoded.schemaId === undefined) return resultOf(record, decoded);
      return readUnknown(record, value, decoded.schemaId);
    },
  };
}

/** A text that is no schema is as good as none. */
function learnt(codec: Codec, id: number, schema: string): boolean {
  try {
    return codec.learn(id, schema);
  } catch {
    return false;
  }
}

const resultOf = (record: LogRecord, decoded: DecodeResult): EventRead =>
  decoded.ok ? { ok: true, record, value: decoded.value } : { ok: false, record, reason: decoded.reason, error: messageOf(decoded.cause) };
