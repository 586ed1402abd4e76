// Selects the records of a fetched partition that a reader gets: those from the position on, without markers and aborted records.
//
// Reason: kafkajs makes two objects for each record to compare its offset with the position: 2 % of the time of a reader that catches up,
// plus their garbage collection. A fetch has tens of thousands of records, so a pass over them costs another percent: it is left out when
// there are no aborted or control records. Which records are aborted: see aborted-records.ts.
// Upstream: not reported.
import type { FetchedRecord } from '../records/record-batches.ts';
import { withoutAborted, type FetchedTransactions } from './aborted-records.ts';
import type { Patch } from './patch.ts';

/** What kafkajs decoded of a partition, as far as this patch needs it. */
interface FetchedPartition extends FetchedTransactions {
  /** In the order of their offsets. */
  readonly messages: readonly FetchedRecord[];
}

/** A batch of kafkajs, as far as this patch needs it. */
interface KafkajsBatch {
  rawMessages: readonly FetchedRecord[];
  messagesWithinOffset: readonly FetchedRecord[];
  messages: readonly FetchedRecord[];
}

type BatchClass = new (topic: string, position: string, partition: FetchedPartition) => KafkajsBatch;

const batchOf = (Original: BatchClass): BatchClass =>
  class extends Original {
    constructor(topic: string, position: string, partition: FetchedPartition) {
      super(topic, position, { ...partition, messages: [] });
      const { messages, abortedTransactions } = partition;
      const first = Number(position);
      const from = messages.findIndex(({ offset }) => offset >= first);
      this.rawMessages = messages;
      const within = from < 0 ? [] : messages.slice(from);
      this.messagesWithinOffset = within;
      this.messages = within;
      if (within[0]?.part.hasMarkers !== true && (abortedTransactions ?? []).length === 0) return;
      this.messages = withoutAborted({ messages: within, abortedTransactions }).filter(({ isControlRecord }) => !isControlRecord);
    }
  };

export const batchPatch: Patch = { module: 'consumer/batch.js', replace: batchOf };
