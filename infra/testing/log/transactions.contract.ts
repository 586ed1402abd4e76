// The part of the log contract about transactions.
import { describe, expect, it } from 'vitest';
import { expired, heartbeat, readIds, unique, type LogUnderTest } from './log-under-test.ts';

export function transactionsContract(backend: string, open: () => Promise<LogUnderTest>): void {
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

    it('commits offsets without events, repeatedly', async () => {
      const log = await open();
      const writer = await log.transactional(unique('txn'));
      const group = log.groupName(unique('trainer'));
      for (const offset of [3, 9])
        await writer.commit({ events: [], offsets: { group, positions: [{ topic: 'tasks', partition: 0, offset }] } });
      await expect.poll(async () => (await log.offsets.fetch(group, 'tasks'))[0]?.offset).toBe(9);
      await writer.close();
    });

    it('fences the previous writer, whose events never become visible', async () => {
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
}
