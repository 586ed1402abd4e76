// Every route of the document, asked with what it does not know.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HttpServer } from '../../infra/http/server.ts';
import { testApi } from '../../infra/testing/api.ts';
import { createFakeStore } from '../../infra/testing/fake-store.ts';

interface QueryParameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: { readonly enum?: readonly string[]; readonly items?: { readonly enum?: readonly string[] }; readonly type?: string };
}

interface Route {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly parameters: readonly QueryParameter[];
}

const store = createFakeStore();
let server: HttpServer;
let routes: readonly Route[];

beforeAll(async () => {
  server = await testApi({ store });
  const { paths } = (await server.app.inject('/openapi.json')).json<{
    paths: Record<string, Record<string, { parameters?: QueryParameter[] }>>;
  }>();
  routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { parameters = [] }]) => ({ method: method.toUpperCase() as Route['method'], path, parameters })),
  );
});

afterAll(async () => {
  await server.close();
});

/** A path with every part filled in, and the query parameters that must be there. */
function addressOf({ path, parameters }: Route, query: string): string {
  const needed = parameters.filter((one) => one.in === 'query' && one.required).map(({ name }) => `${name}=a`);
  return `${path.replace(/\{version\}/, 'latest').replace(/\{[^}]+\}/g, '1')}?${[...needed, query].join('&')}`;
}

/** A body that each route would take. */
function bodyOf(path: string): object {
  if (path === '/v1/sql') return { query: 'select 1' };
  if (path.endsWith('/policies')) return { version: 0, uri: '', sha256: 'a'.repeat(64), format: 'gguf' };
  if (path.endsWith('/trainer')) return { trainer_id: 't' };
  if (path.endsWith(':lease')) return { epoch: 1, lineage: '' };
  if (path.endsWith(':commit')) return { epoch: 1, batch_sha256: 'a'.repeat(64), policy: null, metrics: {} };
  if (path.startsWith('/v1/batches/')) return { epoch: 1 };
  if (path === '/v1/session') return { key: 'a-key-0123456789' };
  return path.startsWith('/registry/config') ? { compatibility: 'FULL_TRANSITIVE' } : { schema: '"string"' };
}

async function ask(route: Route, query: string) {
  const { method, path } = route;
  const answer = await server.app.inject({ method, url: addressOf(route, query), ...(method === 'GET' ? {} : { payload: bodyOf(path) }) });
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
}

it('a parameter that a route does not know is refused by name, with those that it takes', async () => {
  expect(routes.length).toBeGreaterThan(45);
  for (const route of [...routes, { method: 'GET', path: '/openapi.json', parameters: [] } as const]) {
    const { status, body } = await ask(route, 'ofset=1');
    expect({ route: route.path, status, code: body['code'] }).toEqual({ route: route.path, status: 400, code: 'REQUEST_INVALID' });
    expect(body['errors']).toContainEqual({ parameter: 'ofset', message: expect.stringContaining('this route takes') as string });
    for (const one of route.parameters.filter((parameter) => parameter.in === 'query')) expect(body['detail']).toContain(one.name);
  }
  expect(store.asked).toEqual([]);
});

it('a value that a parameter does not know is refused with those that it takes', async () => {
  let tried = 0;
  for (const route of routes) {
    for (const { name, schema } of route.parameters.filter((one) => one.in === 'query')) {
      const known = schema.enum ?? schema.items?.enum;
      if (known === undefined) continue;
      tried += 1;
      const wrong = schema.type === 'array' ? `${known[0]},xx` : 'xx';
      const { status, body } = await ask(route, `${name}=${wrong}`);
      expect({ route: route.path, name, status }).toEqual({ route: route.path, name, status: 400 });
      expect(body['detail']).toContain(known[0]);
    }
  }
  expect(tried).toBeGreaterThan(30);
  expect(store.asked).toEqual([]);
});

it('a list is written with commas or repeated', async () => {
  for (const query of ['fields=step,loss', 'fields=step&fields=loss', 'fields=step,loss&fields=loss']) {
    store.asked.length = 0;
    await server.app.inject(`/v1/runs/a/steps?${query}`);
    expect(store.asked[0]?.sql, query).toMatch(/^select step, loss from steps/);
  }
});

it('a method that a path does not take is 405, whatever its body', async () => {
  for (const { path } of routes) {
    const taken = routes.filter((route) => route.path === path).map(({ method }) => method as string);
    for (const method of ['QUERY', 'DELETE', 'TRACE'].filter((one) => !taken.includes(one))) {
      const answer = await server.app.inject({ method: method as 'GET', url: path.replace(/\{[^}]+\}/g, '1') });
      expect({ path, method, status: answer.statusCode }).toEqual({ path, method, status: 405 });
      expect(answer.headers['allow']).toMatch(/GET|POST|PUT/);
    }
  }
});
