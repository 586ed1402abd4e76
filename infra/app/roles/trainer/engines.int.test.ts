// A run with an external trainer and engines, on a real Kafka: what the trainer commits reaches the engines, and nothing else does.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { reachNothing } from '../../../../streams/core/crash-points.ts';
import type { RoleStatus } from '../../../../streams/core/telemetry.ts';
import type { ClaimAnswer, Coordinator } from '../../../../streams/leases/coordinator.ts';
import type { Config } from '../../../config/descriptors.ts';
import { loadConfig } from '../../../config/load.ts';
import { remoteCoordinator } from '../../../http/remote-coordinator.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { startFakeEngine, type FakeEngine } from '../../../testing/engine-server.ts';
import { useKafka } from '../../../testing/kafka.ts';
import { silentLogger } from '../../../testing/logger.ts';
import { connectLog, groupsOf, type LogConnection } from '../../open/connections.ts';
import { findCoordinator } from '../../open/coordinator-address.ts';
import { prepareLog } from '../../open/prepare.ts';
import type { RoleMain } from '../role.ts';
import { workerRole } from '../worker/worker.ts';
import { trainerRole } from './trainer.ts';

const RUN = 'elsewhere';
const KEY = 'key-of-the-engines';
const patience = { timeout: 60_000, interval: 50 };

let config: Config;
let dataDir = '';
let log: LogConnection;
let engines: FakeEngine[] = [];
const stops: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const kafka = await useKafka();
  dataDir = mkdtempSync(join(tmpdir(), 'turnstream-elsewhere-'));
  engines = [await startFakeEngine('vllm', KEY), await startFakeEngine('sglang', KEY)];
  config = loadConfig({
    KAFKA_BROKERS: kafka.brokers.join(','),
    TURNSTREAM_NAMESPACE: kafka.namespace,
    TURNSTREAM_DATA_DIR: dataDir,
    TURNSTREAM_TRAINER: 'external',
    TURNSTREAM_ENGINES: engines.map(({ name }) => name).join(','),
    TURNSTREAM_ENGINE_KEY: KEY,
    TURNSTREAM_GROUP_SIZE: '4',
    TURNSTREAM_BATCH_GROUPS: '2',
    TURNSTREAM_MAX_DISCARDED: '1',
  });
  await prepareLog(config, silentLogger);
  log = await connectLog({ config, clientId: 'test', logger: silentLogger, metrics: createMetrics('test'), onSkipped: () => undefined });
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
  await log.close();
  for (const engine of engines) await engine.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Runs a role in this process. */
function start(name: string, main: RoleMain) {
  const stopping = new AbortController();
  let current: RoleStatus = { state: 'starting', detail: '', figures: {} };
  const end = main(
    {
      ...{ config, name, logger: silentLogger, metrics: createMetrics(name), reach: reachNothing, supervised: false },
      report: (status) => (current = status),
      status: () => current,
      onSkipped: () => undefined,
      metricsOfOthers: () => [],
      services: () => [],
    },
    stopping.signal,
  );
  end.catch(() => undefined);
  stops.push(() => {
    stopping.abort();
    return end.catch(() => undefined);
  });
  return { end, status: () => current };
}

async function claimed(): Promise<{ readonly coordinator: Coordinator; readonly claim: ClaimAnswer }> {
  const url = await findCoordinator(RUN, log.kafka.offsets, groupsOf(config.namespace).trainer(RUN));
  const coordinator = remoteCoordinator({ url, headers: {} });
  return { coordinator, claim: await coordinator.claim(RUN, { trainer_id: 'mine' }) };
}

/** Leases a batch and commits weights for it, published with the hash of `promised`. */
async function train(coordinator: Coordinator, claim: ClaimAnswer, promised = ''): Promise<ClaimAnswer> {
  const { epoch, lineage } = claim;
  const leased = await coordinator.lease(RUN, { epoch, lineage, wait_ms: 50_000 }, new AbortController().signal);
  if (leased === undefined) throw new Error('there is nothing to lease');
  const weights = `weights of ${leased.step}`;
  const path = pathOf(leased.step);
  writeFileSync(path, weights);
  const sha256 = createHash('sha256')
    .update(promised || weights)
    .digest('hex');
  const committed = await coordinator.commit(leased.batch_id, {
    ...{ epoch, batch_sha256: leased.batch_sha256, metrics: {} },
    policy: { uri: pathToFileURL(path).href, sha256, format: 'hf-safetensors' },
  });
  return { ...claim, lineage: committed.lineage };
}

const pathOf = (version: number): string => join(dataDir, `v${version}.safetensors`);

const serve = (version: number): void => {
  for (const engine of engines) expect(engine).toMatchObject({ label: `${RUN}/${version}`, path: pathOf(version), paused: false });
};

it('gives committed weights to the engines, withholds weights with a wrong hash, and reports that', async () => {
  const trainer = start('trainer', trainerRole({ run: RUN, seed: 1, steps: 3 }));
  const worker = start('worker-1', workerRole({ run: RUN }));
  const { coordinator, claim } = await vi.waitFor(claimed, patience);
  await vi.waitFor(() => {
    expect(trainer.status().detail).toContain('the engines cannot load mlp-f32-v1');
  }, patience);

  const first = await train(coordinator, claim);
  await vi.waitFor(() => {
    serve(1);
  }, patience);
  engines[0]?.restart();
  await vi.waitFor(() => {
    serve(1);
    expect(trainer.status()).toMatchObject({ state: 'live', figures: { engines: 2, engines_behind: 0, engines_version: 1 } });
    expect(trainer.status().detail).not.toMatch(/not used|instead of/);
    expect(worker.status(), 'the ranker of the workers cannot load it').toMatchObject({
      ...{ state: 'live', figures: { policy_version: 0 } },
      detail: expect.stringContaining('policy version 1 is not used') as string,
    });
  }, patience);

  const second = await train(coordinator, first, 'other weights');
  await vi.waitFor(() => {
    expect(trainer.status().detail).toMatch(/version 2 is not used: .*published as/);
  }, patience);
  serve(1);

  await train(coordinator, second);
  expect(await trainer.end).toBe('finished');
  serve(3);
});
