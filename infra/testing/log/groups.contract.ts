// The contract of logs: consumer groups.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GroupStartOptions, Position } from '../../../streams/core/ports.ts';
import type { RawRecord } from '../../kafka/records/message.ts';
import { idsOf, unique, type LogUnderTest } from './log-under-test.ts';

export function groupsContract(backend: string, open: () => Promise<LogUnderTest>): void {
  describe(`log contract: ${backend}: groups`, () => {
    it('delivers from the committed offset, commits with metadata, and continues there', async () => {
      const log = await open();
      const group = log.groupName(unique('g'));
      await log.setOffsets(group, await endPositions(log));
      const ids = Array.from({ length: 10 }, () => unique('c'));
      await log.appendRaw('tasks', ids.map(taskRecord));
      const first = collector();
      const consumer = log.group();
      await consumer.start({ ...first.options, group, topics: ['tasks'] });
      await expect.poll(() => first.ids.length).toBe(10);
      await consumer.close();
      expect((await log.offsets.fetch(group, 'tasks')).filter(({ metadata }) => metadata === 'noted').length).toBeGreaterThan(0);
      const more = unique('c');
      await log.appendRaw('tasks', [taskRecord(more)]);
      const second = collector();
      const again = log.group();
      onTestFinished(() => again.close());
      await again.start({ ...second.options, group, topics: ['tasks'] });
      await expect.poll(() => second.ids).toEqual([more]);
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
      await expect.poll(() => seen.ids).toEqual(ids.slice(5));
      expect(new Set(assigned).size).toBe((await log.reader().bounds('tasks')).length);
    });

    it('shares the partitions among members, and reassigns them when one leaves', async () => {
      const log = await open();
      const group = log.groupName(unique('g'));
      await log.setOffsets(group, await endPositions(log));
      const [a, b] = [collector(), collector()];
      const [first, second] = [log.group(), log.group()];
      await first.start({ ...a.options, group, topics: ['tasks'] });
      await second.start({ ...b.options, group, topics: ['tasks'] });
      onTestFinished(() => first.close());
      const count = (await log.reader().bounds('tasks')).length;
      await expect.poll(() => [a.owned(), b.owned()]).toEqual([count / 2, count / 2]);
      const ids = Array.from({ length: 40 }, () => unique('s'));
      await log.appendRaw('tasks', ids.map(taskRecord));
      await expect.poll(() => a.ids.length + b.ids.length).toBe(40);
      expect([...a.ids, ...b.ids].sort()).toEqual([...ids].sort());
      await second.close();
      await expect.poll(() => a.owned()).toBe(count);
      const more = Array.from({ length: 40 }, () => unique('s'));
      await log.appendRaw('tasks', more.map(taskRecord));
      await expect.poll(() => a.ids.filter((id) => more.includes(id)).length).toBe(40);
    });

    it('refuses a commit of a session that is over', async () => {
      const log = await open();
      const group = log.groupName(unique('g'));
      await log.setOffsets(group, await endPositions(log));
      const [a, b] = [collector(), collector()];
      const [first, second] = [log.group(), log.group()];
      await first.start({ ...a.options, group, topics: ['tasks'] });
      onTestFinished(() => first.close());
      await expect.poll(() => a.sessions.length).toBe(1);
      await second.start({ ...b.options, group, topics: ['tasks'] });
      onTestFinished(() => second.close());
      await expect.poll(() => a.sessions.length).toBe(2);
      await expect(a.sessions[0]!.commit([{ topic: 'tasks', partition: 0, offset: 0 }])).rejects.toMatchObject({ code: 'GROUP_FENCED' });
      const foreign = b.partitions[0]!;
      await expect(a.sessions[1]!.commit([{ topic: 'tasks', partition: foreign, offset: 0 }])).rejects.toMatchObject({
        code: 'GROUP_FENCED',
      });
    });

    it('delivers a batch again if its handler failed, and reports the error', async () => {
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
      await expect.poll(() => seen.ids).toEqual([id]);
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
      await expect.poll(() => seen.ids).toEqual([id]);
    });

    it('reports no offsets for a group that committed nothing', async () => {
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

/** Options that keep everything and commit each batch. */
function collector() {
  const ids: string[] = [];
  const errors: unknown[] = [];
  const sessions: Parameters<NonNullable<GroupStartOptions['onAssigned']>>[1][] = [];
  let partitions: number[] = [];
  const options: Pick<GroupStartOptions, 'onAssigned' | 'onBatch' | 'onError'> & {
    onAssigned: NonNullable<GroupStartOptions['onAssigned']>;
  } = {
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
