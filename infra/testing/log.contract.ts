// The contract of every log, for the in-memory one and for Kafka.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventByType } from '../../schemas/generated/events.ts';
import type {
  Appended,
  EventWriter,
  GroupConsumer,
  GroupOffsets,
  LogBatch,
  LogReader,
  OutgoingEvent,
  Position,
  TransactionalWriter,
} from '../../streams/core/ports.ts';
import { batchesOf } from '../../streams/core/read-log.ts';
import type { RawRecord } from '../kafka/records/message.ts';
import { createCodec } from '../../schemas/codec.ts';

export interface LogUnderTest {
  writer(): Promise<EventWriter>;
  transactional(id: string): Promise<TransactionalWriter>;
  reader(): LogReader;
  group(): GroupConsumer;
  readonly offsets: GroupOffsets;
  appendRaw(topic: 'rollouts' | 'tasks', records: readonly RawRecord[]): Promise<readonly Appended[]>;
  setOffsets(group: string, positions: readonly Position[]): Promise<void>;
  /** A group name that the log accepts. */
  groupName(name: string): string;
}

const codec = createCodec();
let counter = 0;
const unique = (prefix: string): string => `${prefix}-${process.pid}-${(counter += 1)}`;

export function heartbeat(id: string, run = 'run-a'): OutgoingEvent {
  const event: EventByType['WorkerHeartbeat'] = {
    event_id: id,
    run_id: run,
    occurred_at: 1_750_000_000_123_456,
    producer: 'worker/w 1',
    worker_id: 'w1',
    policy_version: 3,
    capacity: 4,
    running: [],
  };
  return { type: 'WorkerHeartbeat', key: id, event, traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
}

export function expired(id: string, sequence: number): OutgoingEvent {
  const event: EventByType['TrajectoryExpired'] = {
    event_id: id,
    run_id: 'run-a',
    occurred_at: 1_750_000_000_000_000,
    producer: 'trainer',
    sequence,
    previous_sha256: '0'.repeat(64),
    group_id: 'g',
    trajectory_id: 'g.0',
    attempt: 0,
    reason: 'silent',
    next_attempt: 1,
  };
  return { type: 'TrajectoryExpired', key: 'run-a', event };
}

const idsOf = (batches: readonly LogBatch[]): string[] =>
  batches.flatMap((batch) => batch.records.map((record) => record.headers['ce_id']?.toString() ?? ''));

async function readIds(log: LogUnderTest, topic: 'rollouts' | 'training' | 'tasks', from?: ReadonlyMap<number, number>): Promise<string[]> {
  const batches: LogBatch[] = [];
  await log.reader().readToEnd(topic, { ...(from === undefined ? {} : { from }), onBatch: (batch) => void batches.push(batch) });
  return idsOf(batches);
}

const ends = async (log: LogUnderTest, topic: 'rollouts' | 'training' | 'tasks'): Promise<Map<number, number>> =>
  new Map((await log.reader().bounds(topic)).map(({ partition, end }) => [partition, end]));

/** `make` is called once; tests distinguish their records by id. */
export function logContract(backend: string, make: () => Promise<LogUnderTest>): void {
  let made: Promise<LogUnderTest> | undefined;
  const open = (): Promise<LogUnderTest> => (made ??= make());

  describe(`log contract: ${backend}: writing`, () => {
    it('answers for each event where it was put, and reads it back with its headers', async () => {
      const log = await open();
      const writer = await log.writer();
      const from = await ends(log, 'rollouts');
      const ids = Array.from({ length: 25 }, () => unique('e'));
      const appended = await writer.append(ids.map((id) => heartbeat(id)));
      const batches: LogBatch[] = [];
      await log.reader().readToEnd('rollouts', { from, onBatch: (batch) => void batches.push(batch) });
      const records = batches.flatMap((batch) => batch.records);
      for (const [index, id] of ids.entries()) {
        const { partition, offset, topic } = appended[index]!;
        const record = records.find((candidate) => candidate.partition === partition && candidate.offset === offset)!;
        expect(topic).toBe('rollouts');
        expect(record.key?.toString()).toBe(id);
        expect(Object.fromEntries(Object.entries(record.headers).map(([name, value]) => [name, value.toString()]))).toMatchObject({
          ce_id: id,
          ce_type: 'turnstream.rollouts.WorkerHeartbeat',
          ce_specversion: '1.0',
          ce_time: '2025-06-15T15:06:40.123456Z',
          'content-type': 'application/avro',
          'run-id': 'run-a',
          traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        });
        expect(codec.decode(record.value!)).toMatchObject({ ok: true, value: { type: 'WorkerHeartbeat', event: { event_id: id } } });
      }
      expect(records.length).toBe(ids.length);
      await writer.close();
    });

    it('reads what lies before given offsets, of the partitions that are named', async () => {
      const log = await open();
      const raw = (name: string, partition: number) => ({ key: name, value: Buffer.from(name), partition });
      const places = await log.appendRaw(
        'rollouts',
        [0, 0, 0, 1, 1, 2].map((partition, at) => raw(`before-${at}`, partition)),
      );
      const offset = (at: number): number => places[at]!.offset;
      const batches: LogBatch[] = [];
      await log.reader().readToEnd('rollouts', {
        from: new Map([
          [0, offset(0)],
          [1, offset(3)],
        ]),
        to: new Map([
          [0, offset(2)],
          [1, offset(4) + 1_000],
        ]),
        onBatch: (batch) => void batches.push(batch),
      });
      const read = batches.flatMap(({ records }) => records.map(({ partition, value }) => `${partition} ${value?.toString() ?? ''}`));
      expect(read.sort()).toEqual(['0 before-0', '0 before-1', '1 before-3', '1 before-4']);
    });

    it('ends a read with the reason of a signal', async () => {
      const log = await open();
      await (await log.writer()).append([heartbeat(unique('s'))]);
      const ending = new AbortController();
      const read = log.reader().readToEnd('rollouts', {
        signal: ending.signal,
        onBatch: () => {
          ending.abort(new Error('enough of it'));
        },
      });
      await expect(read).rejects.toThrow('enough of it');
      await expect(log.reader().readToEnd('rollouts', { signal: ending.signal, onBatch: () => undefined })).rejects.toThrow('enough of it');
    });

    it('ends a read with the reason of a signal that comes before its first record', async () => {
      const log = await open();
      await (await log.writer()).append([heartbeat(unique('s'))]);
      const ending = new AbortController();
      const read = log.reader().readToEnd('rollouts', { signal: ending.signal, onBatch: () => undefined });
      ending.abort(new Error('enough of it'));
      await expect(read).rejects.toThrow('enough of it');
    });

    it('reads in a loop that may be left, or fail, at any record', async () => {
      const log = await open();
      const from = await ends(log, 'rollouts');
      const ids = Array.from({ length: 12 }, () => unique('l'));
      await (await log.writer()).append(ids.map((id) => heartbeat(id)));
      const loop = async (end: (read: number) => boolean): Promise<string[]> => {
        const batches: LogBatch[] = [];
        for await (const batch of batchesOf(log.reader(), 'rollouts', { from })) {
          batches.push(batch);
          if (end(idsOf(batches).length)) break;
        }
        return idsOf(batches);
      };
      expect(new Set(await loop(() => false))).toEqual(new Set(ids));
      expect((await loop((read) => read > 0)).length).toBeGreaterThan(0);
      const failing = loop(() => {
        throw new Error('the reader gave up');
      });
      await expect(failing).rejects.toThrow('the reader gave up');
    });

    it('keeps the order of a key', async () => {
      const log = await open();
      const writer = await log.writer();
      const ids = Array.from({ length: 60 }, () => unique('o'));
      const sameKey = (id: string): OutgoingEvent => ({ ...heartbeat(id), key: 'one-key' });
      await Promise.all(ids.map((id) => writer.append([sameKey(id)])));
      const read = (await readIds(log, 'rollouts')).filter((id) => ids.includes(id));
      expect(read).toEqual(ids);
      await writer.close();
    });

    it('writes nothing for no events', async () => {
      const log = await open();
      const writer = await log.writer();
      expect(await writer.append([])).toEqual([]);
      await writer.close();
    });

    it('appends raw bytes as they are', async () => {
      const log = await open();
      const from = await ends(log, 'rollouts');
      const raw = { key: Buffer.from([0xff, 0]), value: Buffer.from([9, 8, 7]), headers: { odd: Buffer.from([1]) }, partition: 1 };
      const [at] = await log.appendRaw('rollouts', [raw, { key: null, value: null, partition: 1 }]);
      const batches: LogBatch[] = [];
      await log.reader().readToEnd('rollouts', { from, onBatch: (batch) => void batches.push(batch) });
      const records = batches.flatMap((batch) => batch.records);
      expect(records[0]).toMatchObject({ partition: 1, offset: at!.offset, key: raw.key, value: raw.value, headers: raw.headers });
      expect(records[1]).toMatchObject({ key: null, value: null, headers: {} });
    });
  });

  describe(`log contract: ${backend}: transactions`, () => {
    it('makes all events and offsets of a call visible together', async () => {
      const log = await open();
      const writer = await log.transactional(unique('txn'));
      const group = log.groupName(unique('trainer'));
      const ids = [unique('t'), unique('t'), unique('t')];
      const appended = await writer.commit({
        events: [expired(ids[0]!, 0), heartbeat(ids[1]!), expired(ids[2]!, 1)],
        offsets: { group, positions: [{ topic: 'rollouts', partition: 2, offset: 17 }] },
      });
      expect(appended.map(({ topic }) => topic)).toEqual(['training', 'rollouts', 'training']);
      expect(appended[2]!.offset).toBe(appended[0]!.offset + 1);
      expect(await readIds(log, 'training')).toEqual(expect.arrayContaining([ids[0], ids[2]]));
      expect(await readIds(log, 'rollouts')).toContain(ids[1]);
      await expect
        .poll(async () => (await log.offsets.fetch(group, 'rollouts')).find(({ partition }) => partition === 2))
        .toEqual({ partition: 2, offset: 17, metadata: '' });
      await writer.close();
    });

    it('commits offsets alone, and a second time', async () => {
      const log = await open();
      const writer = await log.transactional(unique('txn'));
      const group = log.groupName(unique('trainer'));
      for (const offset of [3, 9])
        await writer.commit({ events: [], offsets: { group, positions: [{ topic: 'tasks', partition: 0, offset }] } });
      await expect.poll(async () => (await log.offsets.fetch(group, 'tasks'))[0]?.offset).toBe(9);
      await writer.close();
    });

    it('fences the writer before, of which nothing becomes visible', async () => {
      const log = await open();
      const id = unique('txn');
      const first = await log.transactional(id);
      await first.commit({ events: [expired(unique('f'), 0)] });
      const second = await log.transactional(id);
      const lost = unique('lost');
      await expect(first.commit({ events: [expired(lost, 1)] })).rejects.toMatchObject({ code: 'PRODUCER_FENCED' });
      const kept = unique('kept');
      await second.commit({ events: [expired(kept, 1)] });
      const read = await readIds(log, 'training');
      expect(read).toContain(kept);
      expect(read).not.toContain(lost);
      await first.close();
      await second.close();
    });
  });

  describe(`log contract: ${backend}: reading`, () => {
    it('reads to the end from given positions, and knows the end although it is a marker', async () => {
      const log = await open();
      const writer = await log.transactional(unique('txn'));
      const [before] = await log.reader().bounds('training');
      const ids = [unique('r'), unique('r')];
      await writer.commit({ events: [expired(ids[0]!, 0)] });
      const appended = await writer.commit({ events: [expired(ids[1]!, 1)] });
      expect(await readIds(log, 'training', new Map([[0, before!.end]]))).toEqual(ids);
      expect(await readIds(log, 'training', new Map([[0, appended[0]!.offset]]))).toEqual([ids[1]]);
      expect(await readIds(log, 'training', await ends(log, 'training'))).toEqual([]);
      await writer.close();
    });

    it('follows from given positions, tells where it is, and goes on with what is written later', async () => {
      const log = await open();
      const writer = await log.writer();
      const from = await ends(log, 'rollouts');
      const seen: string[] = [];
      const positions = new Map<number, number>();
      const following = await log.reader().follow({
        topics: ['rollouts'],
        from: [...from].map(([partition, offset]) => ({ topic: 'rollouts', partition, offset })),
        otherwise: 'first',
        onBatch: (batch) => {
          seen.push(...idsOf([batch]));
          expect(batch.endOffset).toBeGreaterThanOrEqual(batch.nextOffset);
          positions.set(batch.partition, batch.nextOffset);
        },
        onError: (error) => {
          throw error;
        },
      });
      const ids = Array.from({ length: 40 }, () => unique('w'));
      for (const id of ids) await writer.append([heartbeat(id)]);
      await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(ids.length);
      expect([...seen].sort()).toEqual([...ids].sort());
      for (const [partition, end] of await ends(log, 'rollouts')) if (positions.has(partition)) expect(positions.get(partition)).toBe(end);
      await following.close();
      await writer.close();
    });

    it('starts at the end when asked, and delivers nothing while paused', async () => {
      const log = await open();
      const writer = await log.writer();
      await writer.append([heartbeat(unique('old'))]);
      const seen: string[] = [];
      const following = await log.reader().follow({
        topics: ['rollouts', 'tasks'],
        from: [],
        otherwise: 'end',
        onBatch: (batch) => void seen.push(...idsOf([batch])),
        onError: (error) => {
          throw error;
        },
      });
      onTestFinished(() => following.close());
      const [first, second] = [unique('new'), unique('new')];
      await writer.append([heartbeat(first)]);
      await expect.poll(() => seen, { timeout: 20_000 }).toEqual([first]);
      following.pause(['rollouts']);
      await writer.append([heartbeat(second)]);
      await expect.poll(() => seen, { timeout: 400, interval: 100 }).toEqual([first]);
      following.resume(['rollouts']);
      await expect.poll(() => seen, { timeout: 20_000 }).toEqual([first, second]);
      await writer.close();
    });

    it('reads a topic of many empty partitions at once', async () => {
      const log = await open();
      const bounds = await log.reader().bounds('tasks');
      expect(bounds.map(({ partition }) => partition)).toEqual(bounds.map((_, index) => index));
      await log.reader().readToEnd('tasks', { onBatch: () => undefined });
    });
  });

  describe(`log contract: ${backend}: groups`, () => {
    it('delivers from the committed offset, commits with metadata, and goes on there', async () => {
      const log = await open();
      const group = log.groupName(unique('g'));
      await log.setOffsets(group, await endPositions(log));
      const ids = Array.from({ length: 10 }, () => unique('c'));
      await log.appendRaw('tasks', ids.map(taskRecord));
      const first = collector();
      const consumer = log.group();
      await consumer.start({ ...first.options, group, topics: ['tasks'] });
      await expect.poll(() => first.ids.length, { timeout: 20_000 }).toBe(10);
      await consumer.close();
      expect((await log.offsets.fetch(group, 'tasks')).filter(({ metadata }) => metadata === 'noted').length).toBeGreaterThan(0);
      const more = unique('c');
      await log.appendRaw('tasks', [taskRecord(more)]);
      const second = collector();
      const again = log.group();
      onTestFinished(() => again.close());
      await again.start({ ...second.options, group, topics: ['tasks'] });
      await expect.poll(() => second.ids, { timeout: 20_000 }).toEqual([more]);
    });

    it('asks for positions before the first batch', async () => {
      const log = await open();
      const group = log.groupName(unique('g'));
      await log.setOffsets(group, await endPositions(log));
      const ids = Array.from({ length: 8 }, () => unique('p'));
      const at = await log.appendRaw(
        'tasks',
        ids.map((id) => ({ ...taskRecord(id), partition: 0 })),
      );
      const seen = collector();
      const assigned: number[] = [];
      const consumer = log.group();
      onTestFinished(() => consumer.close());
      await consumer.start({
        ...seen.options,
        group,
        topics: ['tasks'],
        onAssigned: async (topics) => {
          expect(seen.ids).toEqual([]);
          for (const { partitions } of topics) assigned.push(...partitions);
          return [{ topic: 'tasks', partition: 0, offset: at[5]!.offset }];
        },
      });
      await expect.poll(() => seen.ids, { timeout: 20_000 }).toEqual(ids.slice(5));
      expect(new Set(assigned).size).toBe((await log.reader().bounds('tasks')).length);
    });

    it('shares the partitions among members, and gives them back when one leaves', async () => {
      const log = await open();
      const group = log.groupName(unique('g'));
      await log.setOffsets(group, await endPositions(log));
      const [a, b] = [collector(), collector()];
      const [first, second] = [log.group(), log.group()];
      await first.start({ ...a.options, group, topics: ['tasks'] });
      await second.start({ ...b.options, group, topics: ['tasks'] });
      onTestFinished(() => first.close());
      const count = (await log.reader().bounds('tasks')).length;
      await expect.poll(() => [a.owned(), b.owned()], { timeout: 30_000 }).toEqual([count / 2, count / 2]);
      const ids = Array.from({ length: 40 }, () => unique('s'));
      await log.appendRaw('tasks', ids.map(taskRecord));
      await expect.poll(() => a.ids.length + b.ids.length, { timeout: 20_000 }).toBe(40);
      expect([...a.ids, ...b.ids].sort()).toEqual([...ids].sort());
      await second.close();
      await expect.poll(() => a.owned(), { timeout: 30_000 }).toBe(count);
      const more = Array.from({ length: 40 }, () => unique('s'));
      await log.appendRaw('tasks', more.map(taskRecord));
      await expect.poll(() => a.ids.filter((id) => more.includes(id)).length, { timeout: 20_000 }).toBe(40);
    });

    it('refuses a commit of a session that is over', async () => {
      const log = await open();
      const group = log.groupName(unique('g'));
      await log.setOffsets(group, await endPositions(log));
      const [a, b] = [collector(), collector()];
      const [first, second] = [log.group(), log.group()];
      await first.start({ ...a.options, group, topics: ['tasks'] });
      onTestFinished(() => first.close());
      await expect.poll(() => a.sessions.length, { timeout: 20_000 }).toBe(1);
      await second.start({ ...b.options, group, topics: ['tasks'] });
      onTestFinished(() => second.close());
      await expect.poll(() => a.sessions.length, { timeout: 30_000 }).toBe(2);
      await expect(a.sessions[0]!.commit([{ topic: 'tasks', partition: 0, offset: 0 }])).rejects.toMatchObject({ code: 'GROUP_FENCED' });
      const foreign = b.partitions[0]!;
      await expect(a.sessions[1]!.commit([{ topic: 'tasks', partition: foreign, offset: 0 }])).rejects.toMatchObject({
        code: 'GROUP_FENCED',
      });
    });

    it('delivers again what a handler failed at, and says so', async () => {
      const log = await open();
      const group = log.groupName(unique('g'));
      await log.setOffsets(group, await endPositions(log));
      const id = unique('x');
      await log.appendRaw('tasks', [taskRecord(id)]);
      const seen = collector();
      let failures = 0;
      const consumer = log.group();
      onTestFinished(() => consumer.close());
      await consumer.start({
        ...seen.options,
        group,
        topics: ['tasks'],
        onBatch: async (batch, session) => {
          if (batch.records.length > 0 && failures === 0) {
            failures += 1;
            throw new Error('handler failed');
          }
          await seen.options.onBatch(batch, session);
        },
      });
      await expect.poll(() => seen.ids, { timeout: 30_000 }).toEqual([id]);
      expect(seen.errors.map((error) => (error as Error).message)).toEqual(['handler failed']);
    });

    it('delivers nothing of a paused topic until it is resumed', async () => {
      const log = await open();
      const group = log.groupName(unique('g'));
      await log.setOffsets(group, await endPositions(log));
      const seen = collector();
      const consumer = log.group();
      onTestFinished(() => consumer.close());
      await consumer.start({ ...seen.options, group, topics: ['tasks'] });
      consumer.pause(['tasks']);
      const id = unique('z');
      await log.appendRaw('tasks', [taskRecord(id)]);
      await expect.poll(() => seen.ids, { timeout: 400, interval: 100 }).toEqual([]);
      consumer.resume(['tasks']);
      await expect.poll(() => seen.ids, { timeout: 20_000 }).toEqual([id]);
    });

    it('says of a group that committed nothing that it has none', async () => {
      const log = await open();
      const offsets = await log.offsets.fetch(log.groupName(unique('g')), 'rollouts');
      expect(offsets).toEqual((await log.reader().bounds('rollouts')).map(({ partition }) => ({ partition, offset: -1, metadata: '' })));
    });
  });
}

const taskRecord = (id: string): RawRecord => ({ key: id, value: Buffer.from('x'), headers: { ce_id: id } });

async function endPositions(log: LogUnderTest): Promise<Position[]> {
  return (await log.reader().bounds('tasks')).map(({ partition, end }) => ({ topic: 'tasks', partition, offset: end }));
}

type StartOptions = Parameters<GroupConsumer['start']>[0];

/** Options that keep everything and commit each batch. */
function collector() {
  const ids: string[] = [];
  const errors: unknown[] = [];
  const sessions: Parameters<NonNullable<StartOptions['onAssigned']>>[1][] = [];
  let partitions: number[] = [];
  const options: Pick<StartOptions, 'onAssigned' | 'onBatch' | 'onError'> & { onAssigned: NonNullable<StartOptions['onAssigned']> } = {
    onAssigned: async (assigned, session) => {
      partitions = assigned.flatMap((topic) => [...topic.partitions]);
      sessions.push(session);
      return [];
    },
    onBatch: async (batch, session) => {
      ids.push(...idsOf([batch]));
      await session.commit([{ topic: batch.topic, partition: batch.partition, offset: batch.nextOffset, metadata: 'noted' }]);
    },
    onError: (error) => void errors.push(error),
  };
  return {
    ids,
    errors,
    sessions,
    options,
    owned: () => partitions.length,
    get partitions() {
      return partitions;
    },
  };
}
