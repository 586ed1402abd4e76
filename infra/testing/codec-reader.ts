import type { Codec } from '../../schemas/codec.ts';
import type { EventRead, LogRecord } from '../../streams/core/ports.ts';

/** Reads with the codec alone, as when every schema is one of ours. */
export const codecReader = (codec: Codec) => ({
  read(record: LogRecord): EventRead {
    if (record.value === null) return { ok: false, record, reason: 'empty', error: 'the record has no value' };
    const result = codec.decode(record.value);
    if (result.ok) return { ok: true, record, value: result.value };
    return { ok: false, record, reason: result.reason, error: String(result.cause) };
  },
});
