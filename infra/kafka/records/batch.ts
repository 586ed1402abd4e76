// Converts kafkajs batches to ours. This code runs for every record that is read, so it avoids copies.
import type { Batch } from 'kafkajs';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import type { LogBatch } from '../../../streams/core/ports.ts';
import { placeRecords, type FetchedRecord } from './record-batches.ts';

/** A batch whose records may lack their shared texts. */
export interface FetchedBatch extends LogBatch {
  readonly records: readonly FetchedRecord[];
}

export function logBatchOf(batch: Batch, topic: EventTopic): FetchedBatch {
  const { partition } = batch;
  // The elements of `messages` come from record-batches.ts.
  const records = batch.messages as unknown as readonly FetchedRecord[];
  placeRecords(records, { topic, partition });
  const nextOffset = Number(batch.lastOffset()) + 1;
  return { topic, partition, records, nextOffset, endOffset: Math.max(nextOffset, Number(batch.highWatermark)) };
}
