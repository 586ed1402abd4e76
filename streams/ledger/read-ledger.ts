// The ledger of one run as a loop. Skips records that cannot be decoded: the warehouse keeps them.
import { bodyOf } from '../../schemas/framing.ts';
import type { EventRead } from '../core/ports.ts';
import { runEvents, type RunSource } from '../core/read-log.ts';
import { isLedgerType, type LedgerEntry } from './chain.ts';

/** An entry of `training` with its position. */
export interface ReadEntry {
  readonly entry: LedgerEntry;
  /** Its Avro body, which the hash chain covers. */
  readonly body: Buffer;
  readonly partition: number;
  readonly offset: number;
}

/** Undefined for a record that is not a ledger entry or cannot be decoded. */
export function entryOf(read: EventRead): ReadEntry | undefined {
  const { partition, offset, value } = read.record;
  if (!read.ok || value === null || !isLedgerType(read.value.type)) return undefined;
  return { entry: read.value as LedgerEntry, body: bodyOf(value), partition, offset };
}

/** Every entry of the run from `from` on, in log order. */
export async function* entriesOf(source: RunSource, from?: ReadonlyMap<number, number>): AsyncGenerator<ReadEntry, void, undefined> {
  for await (const read of runEvents(source, 'training', from === undefined ? {} : { from })) {
    const found = entryOf(read);
    if (found !== undefined) yield found;
  }
}
