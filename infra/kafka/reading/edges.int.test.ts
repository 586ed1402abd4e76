import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import { silentLogger } from '../../testing/logger.ts';
import { connectKafka } from '../connect.ts';
import { kafka, server, values } from './edges.testing.ts';

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

  it('delivers a batch to a follower again if its handler failed', async () => {
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
    await expect.poll(() => seen).toEqual(['again', 'again']);
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
    await expect.poll(() => outcomes).toEqual(['committed']);
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
    await expect.poll(() => outcomes).toEqual(['GROUP_FENCED', 'committed']);
  });

  it('commits in onAssigned, before there was any batch', async () => {
    const group = `${server.namespace}.early`;
    // A position beyond the end of the log would be out of range, and the member would be assigned again.
    await kafka.appendRaw('evaluations', [{ key: null, value: Buffer.from('first'), partition: 0 }]);
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
    await expect.poll(() => outcomes).toEqual(['committed']);
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
