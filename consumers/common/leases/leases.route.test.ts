// Calls over HTTP: responses and errors of a coordinator arrive complete, also when the API forwards the call.
import { afterEach, expect, it } from 'vitest';
import { remoteCoordinator } from '../../../infra/http/remote-coordinator.ts';
import { createHttpServer, type HttpServer } from '../../../infra/http/server.ts';
import { recordingMetrics } from '../../../infra/testing/api.ts';
import { silentLogger } from '../../../infra/testing/logger.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Coordinator, NamedWeights } from '../../../streams/leases/coordinator.ts';
import { leaseRoutes } from './leases.route.ts';

const open: HttpServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serverOf(coordinator: Coordinator): Promise<string> {
  const server = await createHttpServer({
    ...{ host: '127.0.0.1', port: 0, keys: [], version: '1', logger: silentLogger, metrics: recordingMetrics(), probes: [] },
    metricsText: () => '',
    status: () => ({ state: 'live', detail: '', figures: {} }),
  });
  await server.app.register(leaseRoutes, { coordinatorOf: async () => coordinator });
  open.push(server);
  return (await server.listen()).url;
}

const restore: NamedWeights = { version: 4, uri: 's3://w/4', sha256: 'a'.repeat(64), format: 'gguf', weights: 'elsewhere' };

it('forwards claims, rewinds, and publications through the API to the coordinator', async () => {
  const asked: unknown[] = [];
  const fake: Partial<Coordinator> = {
    async claim(run, request) {
      asked.push([run, request]);
      if (request.lineage === 'old') throw new PlatformError('LINEAGE_MISMATCH', 'behind', { context: { restore } });
      return { epoch: 2, version: 4, lineage: 'l-4', lease_ms: 60_000, restore };
    },
    async publish(run, request) {
      asked.push([run, request]);
      if (request.version === 9) throw new PlatformError('WEIGHTS_CONFLICT', 'others');
      return { version: request.version, sha256: request.sha256, replayed: true };
    },
  };
  const url = await serverOf(fake as Coordinator);
  const remote = remoteCoordinator({ url: await serverOf(remoteCoordinator({ url, headers: {} })), headers: {} });
  const claim = { trainer_id: 't', lineage: 'l-1', rewind: { to_version: 1, reason: 'lost' } };
  expect(await remote.claim('run-a', claim)).toEqual({ epoch: 2, version: 4, lineage: 'l-4', lease_ms: 60_000, restore });
  await expect(remote.claim('run-a', { trainer_id: 't', lineage: 'old' })).rejects.toMatchObject({
    code: 'LINEAGE_MISMATCH',
    context: { restore },
  });
  const weights = { version: 3, uri: 'file:///w', sha256: 'b'.repeat(64), format: 'gguf', epoch: 2, bytes: 7 };
  expect(await remote.publish('run-a', weights)).toEqual({ version: 3, sha256: weights.sha256, replayed: true });
  await expect(remote.publish('run-a', { ...weights, version: 9 })).rejects.toMatchObject({ code: 'WEIGHTS_CONFLICT' });
  await expect(remote.publish('run-a', { ...weights, sha256: 'short' })).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
  expect(asked.slice(0, 3)).toEqual([
    ['run-a', claim],
    ['run-a', { trainer_id: 't', lineage: 'old' }],
    ['run-a', weights],
  ]);
});

it('answers 400 for every invalid batch id', async () => {
  const url = await serverOf({} as Coordinator);
  for (const id of ['nonsense', 'a:b', 'a/b', 'run-a/step/1.0:extend', 'run-a/step/-1.0', '%', '\u0008V:\u{3B488}:', 'x'.repeat(500)]) {
    for (const action of [':extend', ':commit', ':release']) {
      const answer = await fetch(`${url}/v1/batches/${encodeURIComponent(id)}${action}`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
        body: JSON.stringify(action === ':commit' ? { epoch: 1, batch_sha256: 'a'.repeat(64), policy: null, metrics: {} } : { epoch: 1 }),
      });
      expect({ id, action, status: answer.status }).toEqual({ id, action, status: 400 });
      expect(await answer.json()).toMatchObject({ code: 'REQUEST_INVALID', errors: [{ parameter: 'batch' }] });
    }
    expect((await fetch(`${url}/v1/batches/${encodeURIComponent(id)}/rows`)).status).toBe(400);
  }
});
