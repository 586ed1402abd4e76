import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LogBatch } from '../../../streams/core/ports.ts';
import { expired } from '../../testing/log/log-under-test.ts';
import { MAX_RECORD_BYTES } from '../records/message.ts';
import { foreign, full, kafka, server, values } from '../reading/edges.testing.ts';

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

async function readAll(topic: 'rollouts' | 'training' | 'evaluations' | 'questions' | 'policies' | 'dead-letters'): Promise<LogBatch[]> {
  const batches: LogBatch[] = [];
  await kafka.reader().readToEnd(topic, { onBatch: (batch) => void batches.push(batch) });
  return batches;
}

describe('transactions of others', () => {
  it('deliver no aborted records or markers, but the positions after them', async () => {
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
    await expect.poll(() => seen.at(-1)?.nextOffset).toBe(3);
    expect(seen.every(({ records }) => records.length === 0)).toBe(true);
    expect((await readAll(topic)).at(-1)).toMatchObject({ records: [], nextOffset: 3, endOffset: 3 });
    const kept = await openTransaction('kept');
    await kept.send({ topic: full(topic), messages: [{ value: 'kept' }] });
    await kept.commit();
    expect(values(await readAll(topic))).toEqual(['kept']);
    await expect.poll(() => values(seen)).toEqual(['kept']);
  });

  it('deliver no record of overlapping transactions that were aborted in another order than they began', async () => {
    const topic = 'dead-letters';
    const send = (transaction: Awaited<ReturnType<typeof openTransaction>>, ...sent: string[]) =>
      transaction.send({ topic: full(topic), messages: sent.map((value) => ({ value, partition: 0 })) });
    const [first, second, kept] = [await openTransaction('first'), await openTransaction('second'), await openTransaction('third')];
    await send(first, 'of the first', 'of the first too');
    await send(second, 'of the second');
    await send(kept, 'kept');
    await send(first, 'of the first again');
    await second.abort();
    await first.abort();
    await kept.commit();
    expect(values(await readAll(topic))).toEqual(['kept']);
  });

  it('hold a read to the end back until an open one is decided', async () => {
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

  it('report the positions after markers to members of a group, too', async () => {
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
    await expect.poll(async () => (await kafka.lag(group, topic))[0]).toEqual({ partition: 0, committed: 2, end: 2, lag: 0 });
    expect(errors).toEqual([]);
  });
});

describe('transactions', () => {
  it('refuse an event that is too large, and go on', async () => {
    const writer = await kafka.transactional(`${server.namespace}.large`);
    onTestFinished(() => writer.close());
    const event = expired('large', 0);
    const tooLarge = { ...event, event: { ...event.event, reason: 'x'.repeat(MAX_RECORD_BYTES) } } as typeof event;
    await expect(writer.commit({ events: [tooLarge] })).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE' });
    await writer.commit({ events: [event] });
  });
});
