import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withoutAborted } from './aborted-records.ts';

interface LoggedRecord {
  readonly offset: number;
  readonly key: Buffer | null;
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
}

interface Aborted {
  readonly firstOffset: string;
  readonly lastOffset: number;
  readonly producerId: string;
}

type ProducerAct = { readonly producer: number; readonly does: 'send' | 'send outside' | 'commit' | 'abort' };

const PRODUCERS = 4;
const acts = fc.array(
  fc.record<ProducerAct>({
    producer: fc.nat({ max: PRODUCERS - 1 }),
    does: fc.constantFrom('send', 'send', 'send', 'send outside', 'commit', 'abort'),
  }),
  { maxLength: 60 },
);
/** The keys of markers, which a record may have too. */
const keys = [null, Buffer.from('key'), Buffer.from([0, 0, 0, 0]), Buffer.from([0, 0, 0, 1])];

/** A partition: its records, the aborted transactions in the order of their ends, and the offsets of their records, to be removed. */
function partitionOf(acted: readonly ProducerAct[]) {
  const records: LoggedRecord[] = [];
  const aborted: Aborted[] = [];
  const open = new Map<string, number[]>();
  const lost = new Set<number>();
  const log = (producerId: string, what: Partial<LoggedRecord>, inTransaction: boolean): number => {
    const offset = records.length;
    const key = keys[offset % keys.length] ?? null;
    records.push({ offset, key, isControlRecord: false, ...what, batchContext: { producerId, inTransaction } });
    return offset;
  };
  const end = (producerId: string, does: 'commit' | 'abort'): void => {
    const sent = open.get(producerId);
    if (sent === undefined) return;
    open.delete(producerId);
    const lastOffset = log(producerId, { key: Buffer.from([0, 0, 0, does === 'abort' ? 0 : 1]), isControlRecord: true }, true);
    if (does === 'commit') return;
    aborted.push({ firstOffset: String(sent[0]), lastOffset, producerId });
    for (const offset of sent) lost.add(offset);
  };
  for (const { producer, does } of acted) {
    const producerId = String(producer);
    if (does === 'send outside') log(`outside ${producer}`, {}, false);
    else if (does === 'send') open.set(producerId, [...(open.get(producerId) ?? []), log(producerId, {}, true)]);
    else end(producerId, does);
  }
  for (let producer = 0; producer < PRODUCERS; producer += 1) end(String(producer), 'abort');
  return { records, aborted, lost };
}

it('removes exactly the records of aborted transactions, from wherever a fetch begins', () => {
  fc.assert(
    fc.property(acts, fc.nat({ max: 60 }), (acted, from) => {
      const { records, aborted, lost } = partitionOf(acted);
      const messages = records.slice(from);
      const abortedTransactions = aborted.filter(({ lastOffset }) => lastOffset >= from);
      const expected = messages.filter(({ offset }) => !lost.has(offset));
      expect(withoutAborted({ messages, abortedTransactions })).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

it('removes nothing if no transaction was aborted', () => {
  const { records } = partitionOf([
    { producer: 0, does: 'send' },
    { producer: 0, does: 'commit' },
  ]);
  expect(withoutAborted({ messages: records, abortedTransactions: null })).toEqual(records);
  expect(withoutAborted({ messages: records, abortedTransactions: [] })).toEqual(records);
});
