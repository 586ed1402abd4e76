import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { sharedLibsDir } from './kafka.ts';
import { silentLogger } from './logger.ts';
import { heartbeat } from './rollout-events.ts';
import { connectKafka } from '../kafka/connect.ts';
import { leadersOf, openLocalCluster } from './local-cluster.ts';
import type { LocalKafka } from '../kafka/broker/local.ts';

it('a cluster goes on without the leader of a partition, and loses nothing that was acknowledged', { timeout: 300_000 }, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'turnstream-cluster-'));
  const cluster = await openLocalCluster({ dataDir, nodes: 3, libsDir: sharedLibsDir, logger: silentLogger });
  const running: LocalKafka[] = [...(await cluster.startAll())];
  const kafka = connectKafka({ brokers: cluster.brokers, clientId: 'test', namespace: 'test', codec: createCodec(), logger: silentLogger });
  onTestFinished(async () => {
    await kafka.close();
    for (const node of running) node.kill();
    await Promise.all(running.map(({ exited }) => exited));
    await rm(dataDir, { recursive: true, force: true });
  });
  const config = { 'min.insync.replicas': '2' };
  await kafka.topics.apply([{ topic: 'rollouts', partitions: 1, replication: 3, config }]);
  const writer = await kafka.writer();
  const append = async (from: number): Promise<void> => {
    const events = Array.from({ length: 100 }, (_, i) => ({ ...heartbeat('w-0'), event_id: `w-0/heartbeat/${from + i}` }));
    await Promise.all(events.map((event) => writer.append([{ type: 'WorkerHeartbeat', key: 'w-0', event }])));
  };
  await append(0);

  const [before] = await leadersOf(cluster.brokers, ['test.rollouts']);
  const lost = running[(before?.node ?? 0) - 1];
  lost?.kill();
  await lost?.exited;
  await append(100);
  const [after] = await leadersOf(cluster.brokers, ['test.rollouts']);
  expect(after?.node).not.toBe(before?.node);

  running.push(await cluster.start(before?.node ?? 0));
  await append(200);
  const ids: string[] = [];
  await kafka.reader().readToEnd('rollouts', {
    onBatch: ({ records }) => void ids.push(...records.map(({ headers }) => headers['ce_id']?.toString() ?? '')),
  });
  expect(ids.sort()).toEqual(Array.from({ length: 300 }, (_, i) => `w-0/heartbeat/${i}`).sort());
});
