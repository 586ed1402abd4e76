import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeRecordBatches, type FetchedRecord } from './record-batches.ts';
import { encodeRecord } from '../patches/record-encoder.ts';

const UNREADABLE_HEADER = 'turnstream-unreadable-batch';

/** Batches made by org.apache.kafka.common.record.MemoryRecords of Kafka 4.3.0. */
const vectors = JSON.parse(readFileSync(new URL('record-batches.vectors.json', import.meta.url), 'utf8')) as Record<string, string>;
const bytesOf = (name: string): Buffer => Buffer.from(vectors[name] ?? '', 'base64');

const big = 'the quick brown fox '.repeat(200);

/** The bytes that a codec reads in place. */
function valueInPlace(record: FetchedRecord): Buffer | undefined {
  const place = record.placeOfValue?.();
  return place?.bytes.subarray(place.start, place.end);
}

describe('record batches of the Java client', () => {
  it.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'])('reads compression %s', async (name) => {
    const records = await decodeRecordBatches(bytesOf(name));
    expect(records.map(({ offset, timestampMs, key, value }) => [offset, timestampMs, key?.toString(), value?.toString()])).toEqual([
      [5_000_000_000, 1_750_000_000_000, 'k1', 'v1'],
      [5_000_000_001, 1_750_000_000_005, undefined, big],
      [5_000_000_002, 1_749_999_999_000, 'ключ', undefined],
    ]);
    const [first, second, third] = records.map(({ headers }) => headers);
    expect(Object.entries(first!).map(([header, value]) => [header, value.toString()])).toEqual([
      ['ce_id', 'e1'],
      ['run-id', 'run-a'],
      ['twice', '1'],
      ['none', ''],
    ]);
    expect(second!['run-id']).toBe(first!['run-id']);
    expect(second!['ce_id']?.toString()).toBe('e2');
    expect(Object.keys(third!)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(third)).toBe(Object.prototype);
  });

  it('recognizes transactions and their markers', async () => {
    const records = await decodeRecordBatches(Buffer.concat([bytesOf('transactional'), bytesOf('marker')]));
    expect(records).toMatchObject([
      { offset: 7, isControlRecord: false, batchContext: { producerId: '4242', inTransaction: true } },
      { offset: 8, isControlRecord: true, batchContext: { producerId: '4242', inTransaction: true } },
    ]);
  });

  it('uses the append time of the broker if the topic says so', async () => {
    expect(await decodeRecordBatches(bytesOf('appendTime'))).toMatchObject([{ offset: 9, timestampMs: 1_760_000_000_000 }]);
  });

  it('reads several batches and leaves out one that is cut off', async () => {
    const whole = Buffer.concat([bytesOf('none'), bytesOf('lz4')]);
    for (const cut of [0, 1, 60, bytesOf('lz4').length - 1]) {
      const part = whole.subarray(0, bytesOf('none').length + cut);
      expect(await decodeRecordBatches(part)).toHaveLength(3);
    }
    expect(await decodeRecordBatches(whole)).toHaveLength(6);
    expect(await decodeRecordBatches(Buffer.alloc(0))).toEqual([]);
  });

  it.each(['gzip', 'snappy', 'lz4', 'zstd'])('makes one record of a %s batch that cannot be decompressed', async (name) => {
    const broken = Buffer.from(bytesOf(name));
    broken.fill(0xee, 70);
    const records = await decodeRecordBatches(Buffer.concat([bytesOf('none'), broken]));
    expect(records).toHaveLength(4);
    const last = records.at(-1)!;
    expect(last).toMatchObject({ offset: 5_000_000_002, key: null, isControlRecord: false });
    expect(last.headers[UNREADABLE_HEADER]?.length).toBeGreaterThan(0);
    expect(last.value?.equals(broken.subarray(61))).toBe(true);
  });

  it('makes one record of a batch with an unknown compression, or with a truncated record', async () => {
    const unknown = Buffer.from(bytesOf('gzip'));
    unknown[22] = 7;
    expect((await decodeRecordBatches(unknown))[0]?.headers[UNREADABLE_HEADER]?.toString()).toContain('compression 7');
    const packed = gzipSync(Buffer.from([0x20, 1, 2, 3]));
    const short = Buffer.concat([bytesOf('gzip').subarray(0, 61), packed]);
    short.writeInt32BE(short.length - 12, 8);
    expect((await decodeRecordBatches(short))[0]?.headers[UNREADABLE_HEADER]?.toString()).toContain('cut off');
  });

  it('never throws, whatever the compressed bytes are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(1, 2, 3, 4, 5), async (body, codec) => {
        const batch = Buffer.concat([bytesOf('gzip').subarray(0, 61), body]);
        batch.writeInt32BE(batch.length - 12, 8);
        batch[22] = codec;
        const records = await decodeRecordBatches(batch);
        expect(records.length).toBeGreaterThan(0);
      }),
    );
  });
});

describe('records that are written', () => {
  it('are byte for byte those of the Java client', () => {
    const records = [
      { key: 'k1', value: Buffer.from('v1'), headers: { ce_id: 'e1', 'run-id': Buffer.from('run-a'), twice: ['1', '2'], none: null } },
      { key: null, value: big, headers: { ce_id: 'e2', 'run-id': 'run-a' }, offsetDelta: 1, timestampDelta: 5 },
      {
        key: Buffer.from('ключ'),
        value: null,
        headers: Object.fromEntries([['__proto__', 'x']]),
        offsetDelta: 2,
        timestampDelta: -1_000,
      },
    ];
    const body = Buffer.concat(records.map((record) => encodeRecord(record).buffer));
    expect(body.equals(bytesOf('none').subarray(61))).toBe(true);
  });

  it('read back as they were', async () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((some) => Buffer.from(some));
    const anyRecord = fc.record({
      key: fc.option(bytes),
      value: fc.option(bytes),
      headers: fc.dictionary(fc.string({ unit: 'grapheme' }), bytes, { noNullPrototype: true }),
      timestampDelta: fc.maxSafeInteger().map((delta) => Math.trunc(delta / 1_000_000) + 0),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyRecord, { minLength: 1, maxLength: 20 }), async (records) => {
        const body = records.map((record, offsetDelta) => encodeRecord({ ...record, offsetDelta }).buffer);
        const batch = Buffer.concat([bytesOf('none').subarray(0, 61), ...body]);
        batch.writeInt32BE(batch.length - 12, 8);
        batch.writeInt32BE(records.length, 57);
        const decoded = await decodeRecordBatches(batch);
        expect(decoded.map(({ key, value, headers }) => ({ key, value, headers }))).toEqual(
          records.map(({ key, value, headers }) => ({ key, value, headers })),
        );
        expect(decoded.map(({ keyText }) => keyText)).toEqual(records.map(({ key }) => key?.toString()));
        expect(decoded.map(valueInPlace)).toEqual(records.map(({ value }) => value ?? undefined));
        expect(decoded.map(({ timestampMs }) => timestampMs - 1_750_000_000_000)).toEqual(
          records.map(({ timestampDelta }) => timestampDelta),
        );
      }),
    );
  });
});
