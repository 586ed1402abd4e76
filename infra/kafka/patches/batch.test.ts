import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import './kafkajs.ts';

interface OffsetRecord {
  readonly offset: number;
  readonly key: null;
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
  readonly part: { readonly hasMarkers: boolean };
}

interface PatchedBatch {
  readonly messages: readonly OffsetRecord[];
  isEmpty(): boolean;
  isEmptyDueToFiltering(): boolean;
  isEmptyIncludingFiltered(): boolean;
  firstOffset(): number | null;
  lastOffset(): number | string;
}

const Batch = createRequire(import.meta.url)('kafkajs/src/consumer/batch.js') as new (
  topic: string,
  position: string,
  partition: object,
) => PatchedBatch;

const END = 1_000;
const batchOf = (messages: readonly OffsetRecord[], position: number): PatchedBatch =>
  new Batch('topic', String(position), { partition: 0, highWatermark: String(END), abortedTransactions: null, messages });

const record = (offset: number, isControlRecord = false): OffsetRecord => ({
  ...{ offset, key: null, isControlRecord },
  batchContext: { producerId: '1', inTransaction: isControlRecord },
  part: { hasMarkers: true },
});

/** Offsets increase, with gaps where records were compacted away. */
const logs = fc.array(fc.record({ gap: fc.integer({ min: 1, max: 3 }), isMarker: fc.boolean() }), { maxLength: 40 }).map((steps) => {
  let offset = -1;
  return steps.map(({ gap, isMarker }) => record((offset += gap), isMarker));
});

it('holds the records from the position on, without markers, and knows the offsets that it covers', () => {
  fc.assert(
    fc.property(logs, fc.nat({ max: 60 }), (log, position) => {
      const part = { hasMarkers: log.some(({ isControlRecord }) => isControlRecord) };
      const batch = batchOf(
        log.map((one) => ({ ...one, part })),
        position,
      );
      const within = log.filter(({ offset }) => offset >= position);
      const expected = within.filter(({ isControlRecord }) => !isControlRecord);
      expect(batch.messages).toEqual(expected.map((one) => ({ ...one, part })));
      expect(batch.isEmpty()).toBe(expected.length === 0);
      expect(batch.isEmptyIncludingFiltered()).toBe(within.length === 0);
      expect(batch.isEmptyDueToFiltering()).toBe(expected.length === 0 && log.length > 0);
      expect(batch.firstOffset()).toBe(within[0]?.offset ?? null);
      if (within.length > 0) expect(batch.lastOffset()).toBe(within.at(-1)?.offset);
      else expect(batch.lastOffset()).toBe(String(log.length > 0 ? position : END - 1));
    }),
  );
});

it('leaves out aborted records', () => {
  const aborted = { ...record(3), batchContext: { producerId: '7', inTransaction: true } };
  for (const hasMarkers of [true, false]) {
    const messages = [record(2), aborted, record(4)].map((one) => ({ ...one, part: { hasMarkers } }));
    const abortedTransactions = [{ firstOffset: '3', producerId: '7' }];
    const batch = new Batch('topic', '0', { partition: 0, highWatermark: '10', messages, abortedTransactions });
    expect(batch.messages.map(({ offset }) => offset)).toEqual([2, 4]);
  }
});
