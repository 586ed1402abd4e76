import { describe, expect, it } from 'vitest';
import { logContract } from './log/log.contract.ts';
import { expired, heartbeat } from './log/log-under-test.ts';
import { MemoryLog } from './memory-log.ts';

logContract('memory', async () => {
  const log = new MemoryLog({ batchRecords: 7 });
  return {
    writer: async () => log.writer(),
    transactional: (id) => log.transactional(id),
    reader: () => log.reader(),
    group: () => log.group(),
    offsets: log.offsets,
    appendRaw: async (topic, records) => log.appendRaw(topic, records),
    setOffsets: async (group, positions) => {
      log.setOffsets(group, positions);
    },
    groupName: (name) => name,
  };
});

describe('log in memory', () => {
  it('fails at the point that a test chooses, with or without visible records', async () => {
    const log = new MemoryLog();
    const [writer, transactional] = [log.writer(), await log.transactional('t')];
    log.failNext('append');
    await expect(writer.append([heartbeat('a')])).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    expect(log.records('rollouts')).toEqual([]);
    log.failNext('commit');
    await expect(transactional.commit({ events: [expired('b', 0)] })).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    expect(log.records('training')).toEqual([]);
    log.failNext('commit_answer');
    await expect(transactional.commit({ events: [expired('c', 0)] })).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    expect(log.records('training')).toHaveLength(1);
  });

  it('passes over aborted records and begins at the first that is left', async () => {
    const log = new MemoryLog({ partitions: { rollouts: 1 } });
    await log.writer().append([heartbeat('a'), heartbeat('b')]);
    log.appendAborted('rollouts', 0, 2);
    await log.writer().append([heartbeat('c')]);
    log.deleteBefore('rollouts', 0, 1);
    const offsets: number[] = [];
    await log.reader().readToEnd('rollouts', { onBatch: (batch) => void offsets.push(...batch.records.map((record) => record.offset)) });
    expect(offsets).toEqual([1, 5]);
  });

  it('refuses commits of members that were expired, which then read again from the committed offset', async () => {
    const log = new MemoryLog({ partitions: { rollouts: 1 } });
    await log.writer().append([heartbeat('a')]);
    const outcomes: unknown[] = [];
    const consumer = log.group();
    await consumer.start({
      group: 'g',
      topics: ['rollouts'],
      onBatch: async (batch, session) => {
        if (outcomes.length === 0) log.expireMembers('g');
        const commit = session.commit([{ topic: 'rollouts', partition: 0, offset: batch.nextOffset }]);
        outcomes.push(await commit.then(() => 'committed').catch((error: unknown) => error));
        await commit;
      },
      onError: (error) => void outcomes.push(error),
    });
    await log.idle();
    expect(outcomes).toEqual([expect.objectContaining({ code: 'GROUP_FENCED' }), 'committed']);
    await consumer.close();
  });
});
