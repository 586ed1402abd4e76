import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LogBatch, SkippedRange } from '../../../streams/core/ports.ts';
import { heartbeat } from '../../testing/log/log-under-test.ts';
import { kafkajs } from '../patches/kafkajs.ts';
import { MAX_RECORD_BYTES } from './message.ts';
import { foreign, full, kafka, values } from '../reading/edges.testing.ts';

async function deleteBefore(topic: string, partition: number, offset: number): Promise<void> {
  const admin = foreign.admin();
  await admin.connect();
  // for a moment, some partitions of a new topic have no leader
  await expect.poll(async () => (await admin.fetchTopicOffsets(full(topic))).length).toBeGreaterThan(partition);
  await admin.deleteTopicRecords({ topic: full(topic), partitions: [{ partition, offset: String(offset) }] });
  await admin.disconnect();
}

describe('records', () => {
  it('are read from the first remaining one when the requested one was deleted', async () => {
    await kafka.appendRaw(
      'rollouts',
      Array.from({ length: 6 }, (_, index) => ({ key: null, value: Buffer.from(`r${index}`), partition: 3 })),
    );
    await deleteBefore('rollouts', 3, 4);
    const batches: LogBatch[] = [];
    const skipped: SkippedRange[] = [];
    const onBatch = (batch: LogBatch): void => void batches.push(batch);
    const onSkipped = (range: SkippedRange): void => void skipped.push(range);
    await kafka.reader().readToEnd('rollouts', { from: new Map([[3, 1]]), onBatch, onSkipped });
    expect(values(batches.filter(({ partition }) => partition === 3))).toEqual(['r4', 'r5']);
    expect(skipped).toEqual([{ topic: 'rollouts', partition: 3, from: 1, to: 4 }]);
    await kafka.reader().readToEnd('rollouts', { from: new Map([[3, 2]]), to: new Map([[3, 3]]), onBatch, onSkipped });
    await kafka.reader().readToEnd('rollouts', { onBatch, onSkipped });
    expect(skipped.slice(1)).toEqual([{ topic: 'rollouts', partition: 3, from: 2, to: 3 }]);
    expect((await kafka.reader().bounds('rollouts'))[3]).toEqual({ partition: 3, first: 4, end: 6 });
  });

  it('are skipped and reported when they are deleted before a slow reader reads them', async () => {
    const topic = 'dead-letters';
    await kafka.appendRaw(topic, [
      { key: null, value: Buffer.from('old') },
      { key: null, value: Buffer.from('older') },
    ]);
    const seen: string[] = [];
    const skipped: SkippedRange[] = [];
    const following = await kafka.reader().follow({
      topics: [topic],
      from: [],
      otherwise: 'first',
      onBatch: (batch) => void seen.push(...values([batch])),
      onSkipped: (range) => void skipped.push(range),
      onError: () => undefined,
    });
    onTestFinished(() => following.close());
    await expect.poll(() => seen.length).toBe(2);
    following.pause([topic]);
    await delay(400);
    await kafka.appendRaw(
      topic,
      Array.from({ length: 4 }, (_, index) => ({ key: null, value: Buffer.from(`n${index}`) })),
    );
    await deleteBefore(topic, 0, 5);
    following.resume([topic]);
    await expect.poll(() => seen).toEqual(['old', 'older', 'n3']);
    expect(skipped).toEqual([{ topic, partition: 0, from: 2, to: 5 }]);
  });

  it('may be large, and larger ones are refused before anything is sent', async () => {
    const large = Buffer.alloc(MAX_RECORD_BYTES - 1_000, 'x');
    const [place] = await kafka.appendRaw('tasks', [{ key: null, value: large, partition: 0 }]);
    const batches: LogBatch[] = [];
    await kafka.reader().readToEnd('tasks', { from: new Map([[0, place!.offset]]), onBatch: (batch) => void batches.push(batch) });
    expect(batches.flatMap(({ records }) => records)[0]?.value?.equals(large)).toBe(true);
    await expect(kafka.appendRaw('tasks', [{ key: null, value: Buffer.alloc(MAX_RECORD_BYTES) }])).rejects.toMatchObject({
      code: 'RECORD_TOO_LARGE',
    });
    const writer = await kafka.writer();
    const event = heartbeat('big');
    const tooLarge = { ...event, event: { ...event.event, worker_id: 'w'.repeat(MAX_RECORD_BYTES) } } as typeof event;
    await expect(writer.append([tooLarge])).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE' });
  });

  it('fail only the call whose record the broker finds too large', async () => {
    const admin = foreign.admin();
    await admin.connect();
    await admin.createTopics({
      waitForLeaders: true,
      topics: [{ topic: full('small'), configEntries: [{ name: 'max.message.bytes', value: '20000' }] }],
    });
    await admin.disconnect();
    const small = kafka.raw('small');
    const results = await Promise.allSettled([
      small.append([{ key: 'a', value: Buffer.alloc(10) }]),
      small.append([{ key: 'b', value: randomBytes(50_000) }]),
      small.append([{ key: 'c', value: Buffer.alloc(10) }]),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'RECORD_TOO_LARGE' } });
  });

  it('are split into several requests if one cannot take them, and their positions are returned in order', async () => {
    const records = Array.from({ length: 30 }, (_, index) => ({ key: null, value: Buffer.alloc(200_000, index), partition: index % 2 }));
    const places = await kafka.appendRaw('tasks', records);
    for (const partition of [0, 1]) {
      const offsets = places.filter((place) => place.partition === partition).map(({ offset }) => offset);
      expect(offsets).toEqual(offsets.map((_, index) => offsets[0]! + index));
    }
    expect(places.map(({ partition }) => partition)).toEqual(records.map(({ partition }) => partition));
  });

  it('of other clients are read: compressed, without key, with repeated and empty headers', async () => {
    const producer = foreign.producer();
    await producer.connect();
    const headers = { twice: ['first', 'second'], once: 'x' };
    const [sent] = await producer.send({
      topic: full('rollouts'),
      compression: kafkajs.CompressionTypes.GZIP,
      messages: [{ value: 'zipped', headers, partition: 2 }],
    });
    await producer.disconnect();
    const batches: LogBatch[] = [];
    await kafka
      .reader()
      .readToEnd('rollouts', { from: new Map([[2, Number(sent!.baseOffset)]]), onBatch: (batch) => void batches.push(batch) });
    const record = batches.find(({ partition }) => partition === 2)?.records[0];
    expect(record).toMatchObject({
      key: null,
      value: Buffer.from('zipped'),
      headers: { twice: Buffer.from('first'), once: Buffer.from('x') },
    });
  });
});
