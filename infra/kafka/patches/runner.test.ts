import { createRequire } from 'node:module';
import { expect, it, vi } from 'vitest';
import { silentLogger } from '../../testing/logger.ts';
import './kafkajs.ts';

it('ends fetchers that were made anew while their consumer was stopping', async () => {
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
