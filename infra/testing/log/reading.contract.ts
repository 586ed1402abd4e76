// The contract of logs: reading to the end, and following.
import { describe, expect, it, onTestFinished } from 'vitest';
import { ends, expired, heartbeat, idsOf, readIds, unique, type LogUnderTest } from './log-under-test.ts';

export function readingContract(backend: string, open: () => Promise<LogUnderTest>): void {
  describe(`log contract: ${backend}: reading`, () => {
    it('reads to the end from given positions, and ends even if the last offset is a transaction marker', async () => {
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

    it('follows from given positions, reports its positions, and continues with what is written later', async () => {
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
      await expect.poll(() => seen.length).toBe(ids.length);
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
      await expect.poll(() => seen).toEqual([first]);
      following.pause(['rollouts']);
      await writer.append([heartbeat(second)]);
      await expect.poll(() => seen, { timeout: 400, interval: 100 }).toEqual([first]);
      following.resume(['rollouts']);
      await expect.poll(() => seen).toEqual([first, second]);
      await writer.close();
    });

    it('reads a topic of many empty partitions to the end', async () => {
      const log = await open();
      const bounds = await log.reader().bounds('tasks');
      expect(bounds.map(({ partition }) => partition)).toEqual(bounds.map((_, index) => index));
      await log.reader().readToEnd('tasks', { onBatch: () => undefined });
    });
  });
}
