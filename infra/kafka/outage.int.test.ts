// The broker is killed and comes back: everything recovers by itself, nothing is lost.
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { isPlatformError } from '../../streams/core/errors.ts';
import type { LogBatch } from '../../streams/core/ports.ts';
import type { LabelsOf, MetricName, Metrics } from '../../streams/core/telemetry.ts';
import { ownKafka } from '../testing/kafka.ts';
import { expired, heartbeat, idsOf } from '../testing/log/log-under-test.ts';
import { silentLogger } from '../testing/logger.ts';
import { connectKafka } from './connect.ts';
import { topicPlanOf } from './topics/topics.ts';

const settings = { replication: 1, partitionsRollouts: 2, partitionsTasks: 2, retentionHours: -1 };

function countingMetrics(): Metrics & { readonly counts: Map<MetricName, number> } {
  const counts = new Map<MetricName, number>();
  const count = <N extends MetricName>(name: N, _labels: LabelsOf<N>, by = 1): void => void counts.set(name, (counts.get(name) ?? 0) + by);
  return { counts, count, set: () => undefined, observe: () => undefined };
}

async function connectOwn() {
  const own = await ownKafka();
  const broker = await own.start();
  const metrics = countingMetrics();
  const kafka = connectKafka({
    brokers: broker.brokers,
    namespace: 'own',
    clientId: 'outage',
    codec: createCodec(),
    logger: silentLogger,
    metrics,
  });
  onTestFinished(() => kafka.close());
  await kafka.topics.apply(topicPlanOf(settings));
  return { own, broker, kafka, metrics };
}

describe('an outage of the broker', () => {
  it('is waited out by writers, followers and members of groups', async () => {
    const { own, broker, kafka } = await connectOwn();
    const writer = await kafka.writer();
    const followed: string[] = [];
    const taken: string[] = [];
    const errors: unknown[] = [];
    await kafka.reader().follow({
      topics: ['rollouts'],
      from: [],
      otherwise: 'first',
      onBatch: (batch) => void followed.push(...idsOf([batch])),
      onError: (error) => void errors.push(error),
    });
    await kafka.group().start({
      group: 'own.takers',
      topics: ['rollouts'],
      onBatch: async (batch, session) => {
        await session.commit([{ topic: 'rollouts', partition: batch.partition, offset: batch.nextOffset }]);
        taken.push(...idsOf([batch]));
      },
      onError: (error) => void errors.push(error),
    });
    const before = Array.from({ length: 20 }, (_, index) => `before-${index}`);
    await writer.append(before.map((id) => heartbeat(id)));
    await expect.poll(() => [followed.length, taken.length]).toEqual([20, 20]);

    broker.kill();
    await broker.exited;
    const during = Array.from({ length: 20 }, (_, index) => `during-${index}`);
    const appending = Promise.all(during.map((id) => writer.append([heartbeat(id)])));
    await expect.poll(() => errors.length).toBeGreaterThanOrEqual(2);
    expect(errors.every((error) => isPlatformError(error, 'KAFKA_UNAVAILABLE'))).toBe(true);
    await expect(kafka.ping()).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    expect((await own.start()).brokers).toEqual(broker.brokers);

    const places = (await appending).flat();
    expect(new Set(places.map(({ partition, offset }) => `${partition}/${offset}`)).size).toBe(20);
    const ids = [...before, ...during].sort();
    await expect.poll(() => [...new Set(followed)].sort()).toEqual(ids);
    await expect.poll(() => [...new Set(taken)].sort()).toEqual(ids);
    expect(followed.length).toBe(new Set(followed).size);
    await kafka.ping();
    await expect.poll(async () => (await kafka.lag('own.takers', 'rollouts')).map(({ lag }) => lag)).toEqual([0, 0]);
  });

  it('may be a broker that is frozen for a minute: no record is lost or duplicated', async () => {
    const { broker, kafka } = await connectOwn();
    onTestFinished(() => void process.kill(broker.pid, 'SIGCONT'));
    const [writer, followed, taken] = [await kafka.writer(), [] as string[], [] as string[]];
    const onBatch = (batch: LogBatch): void => void followed.push(...idsOf([batch]));
    await kafka.reader().follow({ topics: ['rollouts'], from: [], otherwise: 'first', onBatch, onError: () => undefined });
    await kafka.group().start({
      group: 'own.frozen',
      topics: ['rollouts'],
      onBatch: async (batch, session) => {
        await session.commit([{ topic: 'rollouts', partition: batch.partition, offset: batch.nextOffset }]);
        taken.push(...idsOf([batch]));
      },
      onError: () => undefined,
    });
    await writer.append([heartbeat('before')]);
    await expect.poll(() => [followed.length, taken.length]).toEqual([1, 1]);
    process.kill(broker.pid, 'SIGSTOP');
    const heap = process.memoryUsage().heapUsed;
    const ids = Array.from({ length: 1_000 }, (_, index) => `during-${index}`);
    const appending = Promise.all(ids.map((id) => writer.append([heartbeat(id)])));
    await delay(60_000);
    expect(process.memoryUsage().heapUsed - heap).toBeLessThan(100_000_000);
    process.kill(broker.pid, 'SIGCONT');
    await appending;
    const all = ['before', ...ids].sort();
    await expect.poll(() => [...followed].sort()).toEqual(all);
    await expect.poll(() => [...new Set(taken)].sort()).toEqual(all);
  });

  it('leaves a transaction undecided, and its writer unusable until it is opened again', async () => {
    const { own, broker, kafka, metrics } = await connectOwn();
    const writer = await kafka.transactional('own.trainer');
    await writer.commit({ events: [expired('a', 0)] });
    broker.kill();
    await broker.exited;
    const failing = writer.commit({ events: [expired('b', 1)] });
    await expect(failing).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    expect(metrics.counts.get('kafka_producer_recreated_total')).toBe(1);
    await own.start();
    await expect(writer.commit({ events: [expired('c', 1)] })).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    await (await kafka.transactional('own.trainer')).commit({ events: [expired('c', 1)] });
    const ids: string[] = [];
    await kafka.reader().readToEnd('training', { onBatch: (batch) => void ids.push(...idsOf([batch])) });
    expect(ids).toEqual(['a', 'c']);
  });

  it('ends a read or an append when the caller closes the connection meanwhile', async () => {
    const { broker, kafka } = await connectOwn();
    const writer = await kafka.writer();
    await writer.append([heartbeat('a')]);
    await kafka.group().start({ group: 'own.closing', topics: ['rollouts'], onBatch: async () => undefined, onError: () => undefined });
    broker.kill();
    await broker.exited;
    const appending = writer.append([heartbeat('b')]);
    appending.catch(() => undefined);
    await kafka.close();
    await expect(appending).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
  });

  it('gives up an append after the delivery timeout', async () => {
    const kafka = connectKafka({
      brokers: ['127.0.0.1:1'],
      namespace: 'none',
      clientId: 'nobody',
      codec: createCodec(),
      logger: silentLogger,
      deliveryTimeoutMs: 500,
    });
    onTestFinished(() => kafka.close());
    await expect((await kafka.writer()).append([heartbeat('a')])).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
  });
});
