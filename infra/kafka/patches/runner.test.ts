import { createRequire } from 'node:module';
import { expect, it, vi } from 'vitest';
import { silentLogger } from '../../testing/logger.ts';
import './kafkajs.ts';

it('reports no position from markers that were fetched before a seek', async () => {
  const Made = createRequire(import.meta.url)('kafkajs/src/consumer/runner.js') as new (options: object) => {
    running: boolean;
    handleBatch(batch: object): Promise<void>;
  };
  const logger = { ...silentLogger, namespace: () => logger };
  const sought = new Set<number>([1]);
  const resolved: number[] = [];
  const consumerGroup = {
    getNodeIds: () => [],
    hasSeekOffset: ({ partition }: { partition: number }) => sought.has(partition),
    resolveOffset: ({ partition }: { partition: number }) => void resolved.push(partition),
    heartbeat: () => Promise.resolve(),
  };
  const reported = vi.fn();
  const runner = new Made({ logger, consumerGroup, instrumentationEmitter: { emit: reported }, autoCommit: false, heartbeatInterval: 0 });
  runner.running = true;
  const markers = (partition: number) => ({
    ...{ topic: 't', partition, highWatermark: '9', messages: [], isEmpty: () => true, isEmptyDueToFiltering: () => true },
    ...{ offsetLag: () => '0', offsetLagLow: () => '0', firstOffset: () => null, lastOffset: () => '8' },
  });
  await runner.handleBatch(markers(1));
  expect([resolved, reported.mock.calls]).toEqual([[], []]);
  await runner.handleBatch(markers(2));
  expect(resolved).toEqual([2]);
  expect(reported).toHaveBeenCalled();
});

it('ends fetchers that were recreated while their consumer was stopping', async () => {
  const Made = createRequire(import.meta.url)('kafkajs/src/consumer/runner.js') as new (options: object) => {
    running: boolean;
    readonly fetchManager: { start(): Promise<void> };
    fetch(nodeId: string): Promise<unknown>;
  };
  const logger = { ...silentLogger, namespace: () => logger };
  const runner = new Made({ logger, consumerGroup: { getNodeIds: () => ['1', '2'] }, onCrash: () => undefined });
  runner.running = false;
  const fetched = vi.spyOn(runner, 'fetch');
  await runner.fetchManager.start();
  expect(fetched.mock.calls.length).toBeLessThan(10);
});
