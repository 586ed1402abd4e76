import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import type { ServiceHealth } from '../telemetry/health.ts';
import { addHealthRoutes } from './probes.ts';

const service = (name: string, state: ServiceHealth['state'], detail = ''): ServiceHealth => ({
  name,
  state,
  detail,
  restarts: 2,
  sinceMs: 0,
});

async function ask(services: readonly ServiceHealth[], path: string) {
  const app = fastify();
  const status = () => ({ state: 'live', detail: '', figures: {} }) as const;
  const probes = [{ name: 'kafka', check: async () => undefined }];
  addHealthRoutes(app, { probes, metricsText: () => '', status, services: () => services });
  const { statusCode, body } = await app.inject(path);
  return { status: statusCode, body };
}

describe('the health of all services', () => {
  it('has the state of every service, and since when', async () => {
    const { body } = await ask([service('trainer', 'waiting', 'no broker')], '/healthz');
    expect(JSON.parse(body)).toMatchObject({
      services: [{ name: 'trainer', state: 'waiting', detail: 'no broker', restarts: 2, since: '1970-01-01T00:00:00.000Z' }],
    });
  });

  it('is ready when every service is, and otherwise says which one waits for what', async () => {
    expect((await ask([service('trainer', 'finished'), service('worker-1', 'live')], '/readyz')).status).toBe(200);
    const { body, status } = await ask([service('warehouse', 'waiting', 'for ClickHouse'), service('worker-1', 'restarting')], '/readyz');
    expect(status).toBe(500);
    expect(body).toContain('warehouse waits: for ClickHouse; worker-1 is being started again');
  });
});
