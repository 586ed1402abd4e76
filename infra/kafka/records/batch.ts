// Converts kafkajs batches to ours. This code runs for every record that is read, so it avoids copies.
import type { Batch } from 'kafkajs';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import type { LogBatch } from '../../../streams/core/ports.ts';
import type { FetchedRecord } from './record-batches.ts';

/** A batch whose records may lack their shared texts. */
export interface FetchedBatch extends LogBatch {
  readonly records: readonly FetchedRecord[];
}

export function logBatchOf(batch: Batch, topic: EventTopic): FetchedBatch {
  const { partition } = batch;
  // The elements of `messages` come from record-batches.ts, all of the same part.
  const records = batch.messages as unknown as readonly FetchedRecord[];
  if (records[0] !== undefined) records[0].part.place = { topic, partition };
  const nextOffset = Number(batch.lastOffset()) + 1;
  return { topic, partition, records, nextOffset, endOffset: Math.max(nextOffset, Number(batch.highWatermark)) };
}
