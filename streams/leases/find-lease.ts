import type { BatchLeased } from '../../schemas/generated/events.ts';
import type { RunSource } from '../core/read-log.ts';
import { entriesOf } from '../ledger/read-ledger.ts';

/** Searches the whole ledger for the lease of a batch. */
export async function findLease(source: RunSource, batchId: string): Promise<BatchLeased | undefined> {
  for await (const { entry } of entriesOf(source)) {
    if (entry.type === 'BatchLeased' && entry.event.batch_id === batchId) return entry.event;
  }
  return undefined;
}
