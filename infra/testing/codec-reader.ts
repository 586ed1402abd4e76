import type { Codec } from '../../schemas/codec.ts';
import type { EventRead, LogRecord } from '../../streams/core/ports.ts';

/** Decodes with the codec alone, for tests in which every schema is ours. */
export function codecReader(codec: Codec) {
  const decode = (record: LogRecord): EventRead => {
    if (record.value === null) return { ok: false, record, reason: 'empty', error: 'the record has no value' };
    const result = codec.decode(record.value);
    if (result.ok) return { ok: true, record, value: result.value };
    return { ok: false, record, reason: result.reason, error: String(result.cause) };
  };
  return { read: decode, decode, knows: () => true };
}
