import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import type { GroupSession, LogBatch, SkippedRange } from '../../streams/core/ports.ts';
import { useKafka, type TestKafka } from '../testing/kafka.ts';
import { expired, heartbeat } from '../testing/log.contract.ts';
import { silentLogger } from '../testing/logger.ts';
import { connectKafka, type KafkaConnection } from './connect.ts';
import { kafkajs } from './patches/kafkajs.ts';
import { MAX_RECORD_BYTES } from './records/message.ts';
import { topicPlanOf } from './topics/topics.ts';

const settings = { replication: 1, partitionsRollouts: 4, partitionsTasks: 2, retentionHours: -1 };
let server: TestKafka;
let kafka: KafkaConnection;
/** Plain kafkajs, for actions that our adapter never takes. */
let foreign: Kafka;

beforeAll(async () => {
  server = await useKafka();
  kafka = connectKafka({ ...server, clientId: 'edges', codec: createCodec(), logger: silentLogger, sessionTimeoutMs: 3_000 });
  await kafka.topics.apply(topicPlanOf(settings));
  foreign = new kafkajs.Kafka({ brokers: server.brokers, clientId: 'foreign', logLevel: kafkajs.logLevel.NOTHING });
});
afterAll(() => kafka.close());

const full = (topic: string): string => `${server.namespace}.${topic}`;

async function openTransaction(id: string) {
  const producer = foreign.producer({
    transactionalId: `${server.namespace}.${id}`,
    idempotent: true,
    maxInFlightRequests: 1,
    retry: { initialRetryTime: 5 },
  });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  return producer.transaction();
}

async function deleteBefore(topic: string, partition: number, offset: number): Promise<void> {
  const admin = foreign.admin();
  await admin.connect();
  await admin.fetchTopicOffsets(full(topic));
  await admin.deleteTopicRecords({ topic: full(topic), partitions: [{ partition, offset: String(offset) }] });
  await admin.disconnect();
}

async function readAll(topic: 'rollouts' | 'training' | 'evaluations' | 'questions' | 'policies'): Promise<LogBatch[]> {
  const batches: LogBatch[] = [];
  await kafka.reader().readToEnd(topic, { onBatch: (batch) => void batches.push(batch) });
  return batches;
}

const values = (batches: readonly LogBatch[]): string[] =>
  batches.flatMap(({ records }) => records.map(({ value }) => value?.toString() ?? ''));

describe('transactions of others', () => {
  it('passes over aborted records and markers, and knows where it is', async () => {
    const topic = 'evaluations';
    const seen: LogBatch[] = [];
    const following = await kafka
      .reader()
      .follow({ topics: [topic], from: [], otherwise: 'first', onBatch: (batch) => void seen.push(batch), onError: () => undefined });
    onTestFinished(() => following.close());
    const aborted = await openTransaction('aborted');
    await aborted.send({ topic: full(topic), messages: [{ value: 'lost' }, { value: 'lost too' }] });
    await aborted.abort();
    const end = async (): Promise<number> => (await kafka.reader().bounds(topic))[0]!.end;
    await expect.poll(end).toBe(3);
    await expect.poll(() => seen.at(-1)?.nextOffset, { timeout: 10_000 }).toBe(3);
    expect(seen.every(({ records }) => records.length === 0)).toBe(true);
    expect((await readAll(topic)).at(-1)).toMatchObject({ records: [], nextOffset: 3, endOffset: 3 });
    const kept = await openTransaction('kept');
    await kept.send({ topic: full(topic), messages: [{ value: 'kept' }] });
    await kept.commit();
    expect(values(await readAll(topic))).toEqual(['kept']);
    await expect.poll(() => values(seen), { timeout: 10_000 }).toEqual(['kept']);
  });

  it('holds a read to the end back until an open transaction is decided', async () => {
    const topic = 'questions';
    const open = await openTransaction('open');
    await open.send({ topic: full(topic), messages: [{ value: 'undecided' }] });
    expect(await kafka.reader().bounds(topic)).toEqual([{ partition: 0, first: 0, end: 1 }]);
    let done = false;
    const read = readAll(topic).finally(() => {
      done = true;
    });
    await delay(700);
    expect(done).toBe(false);
    await open.commit();
    expect(values(await read)).toEqual(['undecided']);
  });

  it('reports the positions behind markers to members of a group, too', async () => {
    const topic = 'policies';
    const group = `${server.namespace}.markers`;
    const aborted = await openTransaction('aborted-2');
    await aborted.send({ topic: full(topic), messages: [{ value: 'lost' }] });
    await aborted.abort();
    const consumer = kafka.group();
    onTestFinished(() => consumer.close());
    const errors: unknown[] = [];
    await consumer.start({
      group,
      topics: [topic],
      onBatch: (batch, session) => session.commit([{ topic, partition: batch.partition, offset: batch.nextOffset }]),
      onError: (error) => void errors.push(error),
    });
    await expect
      .poll(async () => (await kafka.lag(group, topic))[0], { timeout: 15_000 })
      .toEqual({ partition: 0, committed: 2, end: 2, lag: 0 });
    expect(errors).toEqual([]);
  });
});

describe('records', () => {
  it('begins at the first record that is left when the wanted one was deleted', async () => {
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

  it('goes on when records are deleted from under a reader that is behind', async () => {
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
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(2);
    following.pause([topic]);
    await delay(400);
    await kafka.appendRaw(
      topic,
      Array.from({ length: 4 }, (_, index) => ({ key: null, value: Buffer.from(`n${index}`) })),
    );
    await deleteBefore(topic, 0, 5);
    following.resume([topic]);
    await expect.poll(() => seen, { timeout: 20_000 }).toEqual(['old', 'older', 'n3']);
    expect(skipped).toEqual([{ topic, partition: 0, from: 2, to: 5 }]);
  });

  it('takes large records, and refuses larger ones before anything is sent', async () => {
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

  it('fails only the call whose record the broker finds too large', async () => {
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

  it('splits what is more than a request takes, and answers in order', async () => {
    const records = Array.from({ length: 30 }, (_, index) => ({ key: null, value: Buffer.alloc(200_000, index), partition: index % 2 }));
    const places = await kafka.appendRaw('tasks', records);
    for (const partition of [0, 1]) {
      const offsets = places.filter((place) => place.partition === partition).map(({ offset }) => offset);
      expect(offsets).toEqual(offsets.map((_, index) => offsets[0]! + index));
    }
    expect(places.map(({ partition }) => partition)).toEqual(records.map(({ partition }) => partition));
  });

  it('reads what others wrote: compressed, without key, with repeated and empty headers', async () => {
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

describe('readers and handlers', () => {
  it('ends a read with the error of its handler', async () => {
    await kafka.appendRaw('rollouts', [{ key: 'k', value: Buffer.from('v') }]);
    const read = kafka.reader().readToEnd('rollouts', {
      onBatch: () => {
        throw new Error('handler failed');
      },
    });
    await expect(read).rejects.toThrow('handler failed');
  });

  it('delivers to a follower again what its handler failed at', async () => {
    const [place] = await kafka.appendRaw('tasks', [{ key: null, value: Buffer.from('again'), partition: 1 }]);
    const seen: string[] = [];
    const errors: unknown[] = [];
    const following = await kafka.reader().follow({
      topics: ['tasks'],
      from: [{ topic: 'tasks', partition: 1, offset: place!.offset }],
      otherwise: 'end',
      onBatch: (batch) => {
        seen.push(...values([batch]));
        if (seen.length === 1) throw new Error('handler failed');
      },
      onError: (error) => void errors.push(error),
    });
    await expect.poll(() => seen, { timeout: 15_000 }).toEqual(['again', 'again']);
    expect(errors).toEqual([new Error('handler failed')]);
    await following.close();
  });

  it('keeps a partition while a handler runs longer than the session', async () => {
    const group = `${server.namespace}.slow`;
    await kafka.setOffsets(
      group,
      (await kafka.reader().bounds('tasks')).map(({ partition, end }) => ({ topic: 'tasks', partition, offset: end })),
    );
    await kafka.appendRaw('tasks', [{ key: null, value: Buffer.from('slow'), partition: 0 }]);
    const outcomes: unknown[] = [];
    const consumer = kafka.group();
    onTestFinished(() => consumer.close());
    await consumer.start({
      group,
      topics: ['tasks'],
      onBatch: async (batch, session) => {
        await delay(4_500);
        await session.heartbeat();
        await session.commit([{ topic: 'tasks', partition: batch.partition, offset: batch.nextOffset }]);
        outcomes.push('committed');
      },
      onError: (error) => void outcomes.push(error),
    });
    await expect.poll(() => outcomes, { timeout: 20_000 }).toEqual(['committed']);
  });

  it('refuses the commit of a member that was frozen, and delivers the batch again', async () => {
    const group = `${server.namespace}.frozen`;
    await kafka.setOffsets(
      group,
      (await kafka.reader().bounds('tasks')).map(({ partition, end }) => ({ topic: 'tasks', partition, offset: end })),
    );
    await kafka.appendRaw('tasks', [{ key: null, value: Buffer.from('frozen'), partition: 0 }]);
    const outcomes: unknown[] = [];
    const consumer = kafka.group();
    onTestFinished(() => consumer.close());
    await consumer.start({
      group,
      topics: ['tasks'],
      onBatch: async (batch, session) => {
        // Blocks the whole process for longer than the session timeout, like a suspended machine.
        if (outcomes.length === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_500);
        const commit = session.commit([{ topic: 'tasks', partition: batch.partition, offset: batch.nextOffset }]);
        outcomes.push(await commit.then(() => 'committed').catch((error: unknown) => (error as { code: string }).code));
        await commit;
      },
      onError: (error) => void outcomes.push(error),
    });
    await expect.poll(() => outcomes, { timeout: 20_000 }).toEqual(['GROUP_FENCED', 'committed']);
  });

  it('commits in onAssigned, before there was any batch', async () => {
    const group = `${server.namespace}.early`;
    const consumer = kafka.group();
    onTestFinished(() => consumer.close());
    const outcomes: unknown[] = [];
    await consumer.start({
      group,
      topics: ['evaluations'],
      onAssigned: async (_assigned, session) => {
        await session.commit([{ topic: 'evaluations', partition: 0, offset: 1, metadata: 'early' }]);
        outcomes.push('committed');
        return [];
      },
      onBatch: async () => undefined,
      onError: (error) => void outcomes.push(error),
    });
    await expect.poll(() => outcomes, { timeout: 10_000 }).toEqual(['committed']);
    expect(await kafka.offsets.fetch(group, 'evaluations')).toEqual([{ partition: 0, offset: 1, metadata: 'early' }]);
  });

  it('refuses to set the offsets of a group that has members', async () => {
    const group = `${server.namespace}.busy`;
    const consumer = kafka.group();
    onTestFinished(() => consumer.close());
    await consumer.start({ group, topics: ['tasks'], onBatch: async () => undefined, onError: () => undefined });
    await expect(kafka.setOffsets(group, [{ topic: 'tasks', partition: 0, offset: 0 }])).rejects.toMatchObject({ code: 'GROUP_FENCED' });
  });

  it('says what to do when a topic is missing', async () => {
    const other = connectKafka({
      ...server,
      namespace: `${server.namespace}-none`,
      clientId: 'none',
      codec: createCodec(),
      logger: silentLogger,
    });
    onTestFinished(() => other.close());
    const error = await other
      .reader()
      .bounds('training')
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'KAFKA_UNAVAILABLE', message: expect.stringContaining('turnstream topics apply') as string });
  });
});

describe('transactions', () => {
  it('refuses what is too large, and goes on', async () => {
    const writer = await kafka.transactional(`${server.namespace}.large`);
    onTestFinished(() => writer.close());
    const event = expired('large', 0);
    const tooLarge = { ...event, event: { ...event.event, reason: 'x'.repeat(MAX_RECORD_BYTES) } } as typeof event;
    await expect(writer.commit({ events: [tooLarge] })).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE' });
    await writer.commit({ events: [event] });
  });
});

describe('a generation of a member', () => {
  it('is over when the member begins to join again, not only when it has', async () => {
    const group = `${server.namespace}.leaving`;
    const deaf = foreign.consumer({ groupId: group, sessionTimeout: 4_000, rebalanceTimeout: 30_000 });
    await kafka.appendRaw('tasks', [{ key: null, value: Buffer.from('one'), partition: 0 }]);
    await kafka.appendRaw('tasks', [{ key: null, value: Buffer.from('one'), partition: 1 }]);
    await deaf.connect();
    await deaf.subscribe({ topics: [full('tasks')], fromBeginning: true });
    const requests: string[] = [];
    deaf.on(deaf.events.REQUEST, ({ payload }) => void requests.push(payload.apiName));
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const sessions: GroupSession[] = [];
    const member = kafka.group();
    onTestFinished(async () => {
      release();
      await Promise.all([deaf.disconnect(), member.close()]);
    });
    await member.start({
      group,
      topics: ['tasks'],
      onAssigned: async (_assigned, session) => {
        sessions.push(session);
        return [];
      },
      onBatch: async () => undefined,
      onError: () => undefined,
    });
    let holding = false;
    await deaf.run({
      eachBatch: async () => {
        holding = true;
        await held;
      },
    });
    await expect.poll(() => holding, { timeout: 20_000 }).toBe(true);
    expect(requests).toContain('JoinGroup');
    await expect.poll(() => sessions.length, { timeout: 20_000 }).toBe(2);
    const third = kafka.group();
    onTestFinished(() => third.close());
    const joined = third.start({ group, topics: ['tasks'], onBatch: async () => undefined, onError: () => undefined });
    const position = [
      { topic: 'tasks' as const, partition: 0, offset: 0 },
      { topic: 'tasks' as const, partition: 1, offset: 0 },
    ];
    const over = (): Promise<boolean> =>
      sessions[1]!.heartbeat().then(
        () => false,
        () => true,
      );
    await expect.poll(over, { timeout: 3_000 }).toBe(true);
    expect(sessions).toHaveLength(2);
    for (const one of position) await expect(sessions[1]!.commit([one])).rejects.toMatchObject({ code: 'GROUP_FENCED' });
    await joined;
    await expect.poll(() => sessions.length, { timeout: 20_000 }).toBe(3);
  });
});
