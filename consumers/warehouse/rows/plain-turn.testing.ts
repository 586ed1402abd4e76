// Turns as a reader of the log decodes them, for tests.
import { createCodec } from '../../../schemas/codec.ts';
import { encoderOf } from '../../../schemas/encode-as.ts';
import { publishedSchemas, type TurnRecorded } from '../../../schemas/generated/events.ts';
import { emptyTurn } from '../../../schemas/rollouts/turn.ts';
import type { LogRecord } from '../../../streams/core/ports.ts';
import type { PlainTurn } from './turn-columns.ts';

const codec = createCodec({ late: ['TurnRecorded'] });
const versions = publishedSchemas.filter(({ name }) => name === 'TurnRecorded').map(encoderOf);

/** How many versions of the schema are published. */
export const turnVersions = versions.length;

/** A turn as written with one of the versions, without the fields that this version lacks. */
export function plainTurn(
  event: Partial<TurnRecorded>,
  { offset, version = turnVersions - 1 }: { readonly offset: number; readonly version?: number },
): PlainTurn {
  const value = versions[version]?.({ ...emptyTurn, ...event }) ?? Buffer.alloc(0);
  const record: LogRecord = {
    topic: 'rollouts',
    partition: 2,
    offset,
    timestampMs: 1_767_225_600_000 + offset,
    key: null,
    value,
    headers: {},
  };
  const read = codec.decode(value);
  if (!read.ok || read.value.type !== 'TurnRecorded' || read.value.plain === undefined) throw new Error('the turn is not plain');
  return { record, decoded: read.value, plain: read.value.plain };
}
