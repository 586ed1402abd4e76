import { afterEach, describe, expect, it } from 'vitest';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import { rawRequest } from '../testing/raw-request.ts';
import { startHealthServer, type HealthServer } from './health-server.ts';

let server: HealthServer | undefined;
let current: RoleStatus = { state: 'starting', detail: '', figures: {} };
let metricsText = async (): Promise<string> => 'a 1\n';
afterEach(() => server?.close());

async function start(port = 0, host = '127.0.0.1'): Promise<HealthServer> {
  const status = (): RoleStatus => current;
  return startHealthServer({ host, port, role: 'worker-1', status, sinceMs: () => 5, metricsText: () => metricsText() });
}

const ask = async (path: string, method = 'GET'): Promise<{ status: number; text: string }> => {
  const response = await fetch(`http://127.0.0.1:${server?.port ?? 0}${path}`, { method });
  return { status: response.status, text: await response.text() };
};

describe('the health port of a role', () => {
  it('reports the state, and is ready when the role is live', async () => {
    server = await start();
    expect(await ask('/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('worker-1 is starting') as unknown });
    current = { state: 'waiting', detail: 'for Kafka', figures: { running: 3 } };
    expect(await ask('/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('worker-1 waits: for Kafka') as unknown });
    const health = await ask('/healthz?x=1');
    expect(health.status).toBe(200);
    expect(JSON.parse(health.text)).toMatchObject({
      ...{ alive: true, role: 'worker-1', state: 'waiting', detail: 'for Kafka', figures: { running: 3 } },
      since: '1970-01-01T00:00:00.005Z',
    });
    current = { state: 'live', detail: '', figures: {} };
    expect(await ask('/readyz')).toEqual({ status: 200, text: '{"ready":true}' });
  });

  it('has metrics, and nothing else', async () => {
    server = await start();
    expect(await ask('/metrics')).toEqual({ status: 200, text: 'a 1\n' });
    metricsText = () => Promise.reject(new Error('no'));
    expect((await ask('/metrics')).status).toBe(500);
    expect((await ask('/v1/runs')).status).toBe(404);
    expect((await ask('/healthz', 'POST')).status).toBe(405);
  });

  it('refuses requests of pages of other origins', async () => {
    server = await start();
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      const response = await rawRequest({ port: server.port, path, headers: { 'sec-fetch-site': 'same-site' } });
      expect(response).toMatchObject({ status: 403, type: 'application/problem+json' });
      expect(JSON.parse(response.text)).toMatchObject({ code: 'FOREIGN_ORIGIN', status: 403 });
      expect(await rawRequest({ port: server.port, path, headers: { host: 'evil.example' } })).toMatchObject({ status: 403 });
      expect((await rawRequest({ port: server.port, path, headers: { 'sec-fetch-site': 'none' } })).status).not.toBe(403);
    }
  });

  it('reports a port that is in use', async () => {
    server = await start();
    await expect(start(server.port)).rejects.toMatchObject({ code: 'PORT_IN_USE' });
  });

  it('reports an address that this machine does not have', async () => {
    server = undefined;
    await expect(start(0, '192.0.2.1')).rejects.toThrow('listening on 192.0.2.1:0 for the health of worker-1');
  });
});
