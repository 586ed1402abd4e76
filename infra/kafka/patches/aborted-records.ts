// Removes the records of aborted transactions from a fetch.
//
// Reason: a broker lists aborted transactions in the order in which they ended. kafkajs takes this for the order in which they began: it
// delivers the first records of a transaction that is listed after one that began later, and a worker would run requests that no trainer
// committed. It also takes any record with the key 0x00000000 for the end of an aborted transaction, and delivers the records after it.
// Upstream: not reported. The Java client sorts the list for the same reason: https://github.com/confluentinc/kafka/pull/145.
import type { FetchedRecord } from '../records/record-batches.ts';

interface FilteredRecord extends Pick<FetchedRecord, 'offset' | 'key' | 'isControlRecord'> {
  readonly batchContext: Pick<FetchedRecord['batchContext'], 'producerId' | 'inTransaction'>;
}

export interface FetchedTransactions {
  /** In any order. kafkajs passes both fields as decimal numbers. */
  readonly abortedTransactions?: readonly { readonly firstOffset: string; readonly producerId: string }[] | null | undefined;
}

interface Fetched<R extends FilteredRecord> extends FetchedTransactions {
  /** In the order of their offsets. */
  readonly messages: readonly R[];
}

/** Type in the key of the marker that ends an aborted transaction, after two bytes of version. */
const ABORT = 0;
const TYPE_AT = 2;

const isAbortMarker = ({ isControlRecord, key }: FilteredRecord): boolean => isControlRecord && key?.readInt16BE(TYPE_AT) === ABORT;

/** Markers remain: they are filtered out next. */
export function withoutAborted<R extends FilteredRecord>({ messages, abortedTransactions }: Fetched<R>): readonly R[] {
  if (abortedTransactions === undefined || abortedTransactions === null || abortedTransactions.length === 0) return messages;
  const begins = abortedTransactions.map(({ firstOffset, producerId }) => ({ offset: Number(firstOffset), producerId }));
  begins.sort((a, b) => a.offset - b.offset);
  const aborting = new Set<string>();
  let begun = 0;
  return messages.filter((record) => {
    const { producerId, inTransaction } = record.batchContext;
    for (let next = begins[begun]; next !== undefined && next.offset <= record.offset; next = begins[begun]) {
      aborting.add(next.producerId);
      begun += 1;
    }
    if (isAbortMarker(record)) aborting.delete(producerId);
    return record.isControlRecord || !inTransaction || !aborting.has(producerId);
  });
}
