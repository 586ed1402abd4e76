import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { HttpServer } from '../../infra/http/server.ts';
import { testApi, type TestApiOptions } from '../../infra/testing/api.ts';
import { sourceFiles } from '../../infra/testing/source-text.ts';
import { get, setUpApiFake, shared, store } from './api-fake.testing.ts';

setUpApiFake();

const open: HttpServer[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

/** A separate server, for options that the shared one does not have. */
async function apiWith(options: Partial<TestApiOptions>): Promise<HttpServer> {
  const server = await testApi({ store, ...options });
  open.push(server);
  return server;
}

describe('the OpenAPI document', () => {
  it('gives every operation a unique name, for generated code', async () => {
    const { body } = await get(shared, '/openapi.json');
    const paths = Object.values(body['paths'] as Record<string, Record<string, { operationId: string }>>);
    const names = paths.flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(['listRuns', 'listSteps', 'getStep', 'runSql', 'registerSchema']));
    expect(names.filter((name) => !/^[a-z]+[a-zA-Z0-9]+$/.test(name))).toEqual([]);
  });

  it('is valid OpenAPI 3.1 and contains these routes', async () => {
    const { body } = await get(shared, '/openapi.json');
    const outcome = await new Validator().validate(body);
    expect(outcome.errors ?? []).toEqual([]);
    expect(body['openapi']).toBe('3.1.0');
    expect(Object.keys(body['paths'] as object)).toEqual(
      expect.arrayContaining([
        '/v1/runs',
        '/v1/runs/{run}',
        '/v1/runs/{run}/steps',
        '/v1/runs/{run}/steps/{step}',
        '/v1/runs/{run}/staleness',
        '/v1/runs/{run}/tools',
        '/v1/runs/{run}/trajectories',
        '/v1/runs/{run}/discarded',
        '/v1/runs/{run}/selection-bias',
        '/v1/runs/{run}/curves',
        '/v1/runs/{run}/heldout',
        '/v1/runs/{run}/spreads',
        '/v1/evaluations/{evaluation}/results',
        '/v1/runs/{run}/policies',
        '/v1/runs/{run}/lineage',
        '/v1/runs/{run}/tool-calls',
        '/v1/runs/{run}/lengths',
        '/v1/runs/{run}/wall-clock',
        '/v1/runs/{run}/questions',
        '/v1/runs/{run}/workers',
        '/v1/runs/{run}/cost',
        '/v1/runs/{run}/compare',
        '/v1/runs/{run}/groups/{group}',
        '/v1/groups/{group}',
        '/v1/trajectories/{trajectory}',
        '/v1/trajectories/{trajectory}/turns',
        '/v1/questions',
        '/v1/evaluations',
        '/v1/evaluations/{evaluation}',
        '/v1/evaluations/{evaluation}/scores',
        '/v1/dead-letters',
        '/v1/live',
        '/v1/sql',
        '/v1/sql/tables',
        '/registry/schemas/ids/{id}',
        '/registry/subjects/{subject}/versions',
        '/healthz',
        '/readyz',
        '/metrics',
      ]),
    );
  });

  it('documents an error response for every operation', async () => {
    const { body } = await get(shared, '/openapi.json');
    const operations = Object.values(body['paths'] as Record<string, Record<string, { responses: object }>>).flatMap((item) =>
      Object.values(item),
    );
    expect(operations.length).toBeGreaterThan(30);
    for (const { responses } of operations) expect(responses).toHaveProperty('default');
  });

  it('has the routes of every route file', () => {
    const registered = readFileSync('consumers/api/api.ts', 'utf8');
    const files = sourceFiles(['consumers/api']).filter((path) => path.endsWith('.route.ts'));
    expect(files.length).toBeGreaterThan(5);
    for (const path of files) {
      const plugins = [...readFileSync(path, 'utf8').matchAll(/^export const (\w+Routes)\b/gm)].map(([, name = '']) => name);
      expect(plugins.length, path).toBeGreaterThan(0);
      for (const plugin of plugins) expect(registered.split(plugin).length, `${plugin} of ${path} is not registered in api.ts`).toBe(3);
    }
  });

  it('has no registry when another one is configured', async () => {
    const server = await apiWith({ registry: null });
    expect((await get(server, '/registry/subjects')).status).toBe(404);
  });
});

describe('scopes', () => {
  let locked: HttpServer;
  beforeAll(async () => {
    locked = await testApi({ store, keys });
  });
  afterAll(async () => {
    await locked.close();
  });
  const keys = ['key-of-a-reader-0123:read', 'key-of-an-analyst-01:sql', 'key-of-a-writer-0123:write'];
  const as = (name: string) => ({
    authorization: `Bearer ${keys.map((entry) => entry.split(':')[0] ?? '').find((key) => key.includes(name)) ?? ''}`,
  });
  it.each([
    ['reader', 'GET', '/v1/runs', 200],
    ['analyst', 'GET', '/v1/runs', 403],
    ['reader', 'POST', '/v1/sql', 403],
    ['reader', 'GET', '/registry/subjects', 200],
    ['reader', 'POST', '/registry/subjects/x/versions', 403],
    ['writer', 'PUT', '/registry/config', 403],
    ['nobody', 'GET', '/registry/subjects', 401],
  ] as const)('%s: %s %s is %d', async (...row) => {
    const [who, method, url, status] = row;
    expect(
      (await locked.app.inject({ method, url, headers: as(who), ...(method === 'GET' ? {} : { payload: { query: 'select 1' } }) }))
        .statusCode,
    ).toBe(status);
  });
});
