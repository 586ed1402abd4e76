import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import type { TurnRecorded } from '../../../schemas/generated/events.ts';
import type { LogBatch, OutgoingEvent } from '../../../streams/core/ports.ts';
import { randomEvent, seeded } from '../../testing/events.ts';
import { createRecordingLogger, silentLogger } from '../../testing/logger.ts';
import { turn } from '../../testing/rollout-events.ts';
import type { FetchedBatch } from '../records/batch.ts';
import { messageOf, type OutgoingMessage, type RawRecord } from '../records/message.ts';
import { decodeRecordBatches, type FetchedRecord } from '../records/record-batches.ts';
import { encodeRecord } from '../patches/record-encoder.ts';
import { parseTextHeader, sha256Of, TEXT_HEADER, textHeader, withText } from '../records/text-reference.ts';
import { TextReader, type TextReaderOptions } from './text-reader.ts';
import { TextWriter } from './text-writer.ts';

const codec = createCodec();
const context = { codec, namespace: 'test' };

/** An in-memory topic of texts. */
function textsTopic() {
  const records: { readonly key: Buffer; readonly value: Buffer }[] = [];
  const log = { fails: false };
  const batchFrom = (offset: number): LogBatch => {
    const place = { topic: 'texts' as never, partition: 0, timestampMs: 0, headers: {} };
    const own = records.slice(offset).map((record, index) => ({ ...place, ...record, offset: offset + index }));
    return { topic: 'texts' as never, partition: 0, records: own, nextOffset: records.length, endOffset: records.length };
  };
  return {
    records,
    log,
    batchFrom,
    append: async (added: readonly RawRecord[]) => {
      if (log.fails) throw new Error('no such topic');
      for (const { key, value } of added) records.push({ key: Buffer.from(String(key)), value: value as Buffer });
    },
    readToEnd: async ({ onBatch }: { onBatch: (batch: LogBatch) => unknown }) => {
      if (log.fails) throw new Error('no such topic');
      await onBatch(batchFrom(0));
    },
  };
}

const HEADER = Buffer.alloc(61);

/** The records of messages, as a fetch returns them. */
async function fetched(messages: readonly OutgoingMessage[]): Promise<readonly FetchedRecord[]> {
  const body = messages.map(({ key, value, headers }, offsetDelta) => encodeRecord({ key, value, headers, offsetDelta }).buffer);
  const batch = Buffer.concat([HEADER, ...body]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt32BE(messages.length, 57);
  return decodeRecordBatches(batch);
}

const batchOf = (records: readonly FetchedRecord[]): FetchedBatch => ({
  ...{ topic: 'rollouts', partition: 0, records, nextOffset: records.length, endOffset: records.length },
});

/** A reader of that topic; it sees the content as of the last refresh. */
function readerOf(topic: ReturnType<typeof textsTopic>, options: Partial<TextReaderOptions> = {}) {
  let take: (batch: LogBatch) => void = () => undefined;
  let offset = 0;
  const look = (): void => {
    const batch = topic.batchFrom(offset);
    offset = batch.nextOffset;
    take(batch);
  };
  const reader = new TextReader({
    follow: async (onBatch) => {
      take = onBatch;
      return { pause: () => undefined, resume: () => undefined, close: async () => undefined };
    },
    bounds: async () => {
      setImmediate(look);
      return [{ partition: 0, first: 0, end: topic.records.length }];
    },
    logger: silentLogger,
    ...options,
  });
  return reader;
}

const recorded = (event: TurnRecorded): OutgoingEvent => ({ type: 'TurnRecorded', key: event.group_id, event });
const long = (seed: string): string => `${seed} `.repeat(Math.ceil(2_000 / (seed.length + 1)));
const turnWith = (result: string, sequence = 0): OutgoingEvent => recorded(turn({ trajectory: 'run-a/g0.0', sequence }, 0, { result }));

const valuesOf = (records: readonly FetchedRecord[]): unknown => records.map(({ value }) => value?.toString('hex'));
const wholeValues = (events: readonly OutgoingEvent[]): unknown => events.map((event) => messageOf(event, context).value.toString('hex'));
const headersOf = (records: readonly FetchedRecord[]): string[][] => records.map(({ headers }) => Object.keys(headers));

describe('texts that turns share', () => {
  it('come back byte for byte, whatever the turns, their order, their writers and their restarts', async () => {
    const pool = fc.constantFrom(
      '',
      'short',
      long('a page'),
      long('東京 🛰️'),
      long('another page'),
      'x'.repeat(1_024),
      '\ud800'.repeat(1_100),
    );
    const step = fc.record({
      results: fc.array(pool, { minLength: 1, maxLength: 4 }),
      writer: fc.nat(1),
      restarts: fc.boolean(),
      seed: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const topic = textsTopic();
        const open = () => new TextWriter({ topic, maxBytes: 5_000, logger: silentLogger });
        const writers = [open(), open()];
        const reader = readerOf(topic);
        for (const { results, writer, restarts, seed } of steps) {
          if (restarts) writers[writer] = open();
          const events = results.map((result) => recorded({ ...randomEvent('TurnRecorded', seeded(seed)), result }));
          const batch = batchOf(await fetched((await writers[writer]?.messagesOf(events, context)) ?? []));
          await reader.fill(batch);
          expect(valuesOf(batch.records)).toEqual(wholeValues(events));
          expect(headersOf(batch.records).flat()).not.toContain(TEXT_HEADER);
        }
        // Two writers may write the same text, each within the limit that it knows of.
        expect(topic.records.reduce((sum, { value }) => sum + value.length, 0)).toBeLessThanOrEqual(10_000);
      }),
      { numRuns: 60 },
    );
  });

  it('go to the topic when they occur again, and are referred to by turns that are valid without them', async () => {
    const topic = textsTopic();
    const writer = new TextWriter({ topic, maxBytes: 1_000_000, logger: silentLogger });
    const result = long('a page');
    const [first] = await writer.messagesOf([turnWith(result, 0)], context);
    expect(first?.headers[TEXT_HEADER]).toBeUndefined();
    expect(topic.records).toEqual([]);
    const [second] = await writer.messagesOf([turnWith(result, 1)], context);
    expect(topic.records.map(({ key }) => key.toString())).toEqual([sha256Of(Buffer.from(result))]);
    expect(second?.value.length).toBeLessThan(first!.value.length - 1_900);
    expect(codec.decode(second!.value)).toMatchObject({ ok: true, value: { event: { sequence: 1, result: '' } } });
    await writer.messagesOf([turnWith(result, 2), turnWith(result, 3)], context);
    expect(topic.records).toHaveLength(1);
    expect(writer.concerns([turnWith('short')])).toBe(false);
    expect(writer.concerns([turnWith('short'), turnWith(result)])).toBe(true);
  });

  it('stay in their turns when the topic is full or cannot be used', async () => {
    const topic = textsTopic();
    let now = 0;
    const logger = createRecordingLogger();
    const writer = new TextWriter({ topic, maxBytes: 3_000, logger, now: () => now });
    const pages = [long('one'), long('two')];
    for (let round = 0; round < 3; round += 1)
      await writer.messagesOf(
        pages.map((page) => turnWith(page)),
        context,
      );
    expect(topic.records).toHaveLength(1);
    topic.log.fails = true;
    const other = new TextWriter({ topic, maxBytes: 3_000, logger, now: () => now });
    const [message] = await other.messagesOf([turnWith(pages[0]!)], context);
    expect(message?.value.length).toBeGreaterThan(2_000);
    expect(logger.lines).toMatchObject([{ level: 'warn' }]);
    expect(other.concerns([turnWith(pages[0]!)])).toBe(false);
    topic.log.fails = false;
    now = 30_000;
    expect(other.concerns([turnWith(pages[0]!)])).toBe(true);
    const [again] = await other.messagesOf([turnWith(pages[0]!)], context);
    expect(again?.headers[TEXT_HEADER]).toBeDefined();
  });

  it('are reported when they are missing, and the turn is delivered without them', async () => {
    const topic = textsTopic();
    const writer = new TextWriter({ topic, maxBytes: 1_000_000, logger: silentLogger });
    const events = [turnWith(long('a page')), turnWith(long('a page'))];
    await writer.messagesOf(events, context);
    const messages = await writer.messagesOf(events, context);
    topic.records[0] = { key: topic.records[0]!.key, value: Buffer.from('another text') };
    const logger = createRecordingLogger();
    const counted: unknown[] = [];
    const metrics = { count: (...args: unknown[]) => counted.push(args), observe: () => undefined, set: () => undefined };
    for (const options of [{}, { bounds: async () => [] }]) {
      const reader = readerOf(topic, { logger, metrics, ...options });
      const batch = batchOf(await fetched(messages));
      await reader.fill(batch);
      expect(valuesOf(batch.records)).toEqual(messages.map(({ value }) => value.toString('hex')));
      await reader.close();
    }
    expect(logger.lines.map(({ level }) => level)).toEqual(['error', 'error']);
    expect(counted).toEqual(Array.from({ length: 2 }, () => ['kafka_missing_texts_total', { topic: 'rollouts' }, 2]));
  });

  it('are not waited for forever', async () => {
    const topic = textsTopic();
    const writer = new TextWriter({ topic, maxBytes: 1_000_000, logger: silentLogger });
    const events = [turnWith(long('a page'))];
    await writer.messagesOf(events, context);
    const batch = batchOf(await fetched(await writer.messagesOf(events, context)));
    const silent = readerOf(topic, { bounds: async () => [{ partition: 0, first: 0, end: 1 }], patienceMs: 5 });
    await expect(silent.fill(batch)).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    const failing = readerOf(topic, { follow: () => Promise.reject(new Error('away')) });
    await expect(failing.fill(batch)).rejects.toThrow('away');
    await failing.close();
  });
});

describe('references', () => {
  it('are parsed as they were written; other values of the header are no references', () => {
    const reference = { at: 1_234, sha256: 'a'.repeat(64) };
    expect(parseTextHeader(Buffer.from(textHeader(reference)))).toEqual(reference);
    for (const other of ['', '12', `-1:${'a'.repeat(64)}`, `1:${'A'.repeat(64)}`, `1:${'a'.repeat(64)}x`])
      expect(parseTextHeader(Buffer.from(other))).toBeUndefined();
    expect(parseTextHeader(undefined)).toBeUndefined();
  });

  it('change nothing if there is no empty text at their position', () => {
    const value = Buffer.from([0, 1, 2]);
    expect(withText(value, 1, Buffer.from('text'))).toBe(value);
    expect(withText(value, 9, Buffer.from('text'))).toBe(value);
  });
});
