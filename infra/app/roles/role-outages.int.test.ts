// Roles that start while their dependencies are down: each waits, reports what it waits for, and continues when they are back.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { startChaosProxy } from '../../e2e/torture/chaos-proxy.ts';
import { useKafka } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { startRole, type RoleProcess } from '../../testing/role-process.ts';
import { startTestStore } from '../../testing/store.ts';
import { freePort } from '../open/local-ports.ts';
import { prepareLog } from '../open/prepare.ts';

const patience = { timeout: 180_000, interval: 100 };

it('worker, trainer, warehouse and api wait for Kafka and ClickHouse, and go on', { timeout: 300_000 }, async () => {
  const [kafka, store] = await Promise.all([useKafka(), startTestStore()]);
  const dataDir = mkdtempSync(join(tmpdir(), 'turnstream-role-outages-'));
  const [kafkaPort, storePort] = [await freePort(), await freePort()];
  const env = {
    KAFKA_BROKERS: `127.0.0.1:${kafkaPort}`,
    CLICKHOUSE_URL: `http://127.0.0.1:${storePort}`,
    TURNSTREAM_DATA_DIR: dataDir,
    TURNSTREAM_NAMESPACE: kafka.namespace,
    TURNSTREAM_CLICKHOUSE_DATABASE: kafka.namespace.replaceAll('-', '_'),
    TURNSTREAM_API_PORT: '0',
    TURNSTREAM_BACKEND: 'cpu',
    TURNSTREAM_LOG_LEVEL: 'warn',
  };
  const [broker = ''] = kafka.brokers;
  await prepareLog(loadConfig({ ...env, KAFKA_BROKERS: broker }), silentLogger);
  const roles = new Map<string, RoleProcess>();
  const cleanups: (() => Promise<void>)[] = [() => store.stop()];
  onTestFinished(async () => {
    for (const role of roles.values()) role.signal('SIGKILL');
    await Promise.all([...roles.values()].map((role) => role.exited));
    for (const cleanup of cleanups) await cleanup();
    rmSync(dataDir, { recursive: true, force: true });
  });
  for (const [name, ...args] of [['trainer', '--run', 'r'], ['worker', '--run', 'r'], ['warehouse'], ['api']] as const) {
    roles.set(name, await startRole(env, name, ...args));
  }
  const of = (name: string): RoleProcess => roles.get(name)!;
  const waits = (role: RoleProcess): string[] => role.statuses().flatMap(({ state, detail }) => (state === 'waiting' ? [detail] : []));
  const stateOf = (name: string): string => `${name} ${of(name).statuses().at(-1)?.state ?? ''}`;

  for (const name of ['trainer', 'worker', 'warehouse']) {
    await expect.poll(() => waits(of(name)).length, { ...patience, message: name }).toBeGreaterThan(0);
    expect(waits(of(name))[0]).toMatch(/ECONNREFUSED|[Cc]onnect/);
  }
  const port = (await of('api').until(({ state }) => state === 'live')).figures['port'] ?? 0;
  const ready = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
  await expect.poll(ready, patience).toBe(503);
  for (const name of roles.keys()) expect(stateOf(name)).not.toBe(`${name} failed`);

  for (const [listen, target] of [
    [storePort, store.port],
    [kafkaPort, Number(broker.split(':')[1])],
  ] as const) {
    const proxy = await startChaosProxy({ port: listen, target });
    cleanups.unshift(() => proxy.close());
  }
  for (const name of ['trainer', 'worker', 'warehouse']) await expect.poll(() => stateOf(name), patience).toBe(`${name} live`);
  await expect.poll(ready, patience).toBe(200);
});
