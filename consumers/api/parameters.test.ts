// Requests every route of the OpenAPI document with parameters, values, and body fields that it does not know.
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

interface FieldSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly anyOf?: readonly FieldSchema[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly additionalProperties?: unknown;
}

interface DescribedOperation {
  readonly parameters?: readonly QueryParameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: FieldSchema }>> };
}

interface Route {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly parameters: readonly QueryParameter[];
  readonly body?: FieldSchema | undefined;
}

const store = createFakeStore();
let server: HttpServer;
let routes: readonly Route[];
let schemas: Readonly<Record<string, FieldSchema>>;

beforeAll(async () => {
  server = await testApi({ store });
  const { paths, components } = (await server.app.inject('/openapi.json')).json<{
    paths: Record<string, Record<string, DescribedOperation>>;
    components: { schemas: Record<string, FieldSchema> };
  }>();
  schemas = components.schemas;
  routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { parameters = [], requestBody }]) => ({
      ...{ method: method.toUpperCase() as Route['method'], path, parameters },
      body: requestBody?.content['application/json']?.schema,
    })),
  );
});

afterAll(async () => {
  await server.close();
});

/** A path with every part filled in, and the required query parameters. */
function addressOf({ path, parameters }: Route, query: string): string {
  const needed = parameters.filter((one) => one.in === 'query' && one.required).map(({ name }) => `${name}=a`);
  const parts = path.replace(/\{version\}/, 'latest').replace(/\{batch\}/, 'a%2Fstep%2F1.0');
  return `${parts.replace(/\{[^}]+\}/g, '1')}?${[...needed, query].join('&')}`;
}

/** A body that the routes of this path accept. */
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

async function ask(route: Route, query: string, payload: object = bodyOf(route.path)) {
  const { method } = route;
  const answer = await server.app.inject({ method, url: addressOf(route, query), ...(method === 'GET' ? {} : { payload }) });
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
}

const resolved = (schema: FieldSchema): FieldSchema => schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema;

/** The JSON types that a field takes. */
function typesOf(schema: FieldSchema): readonly string[] {
  const { type, anyOf = [] } = resolved(schema);
  return type === undefined ? anyOf.flatMap(typesOf) : [type === 'integer' ? 'number' : type];
}

const values: Readonly<Record<string, unknown>> = { null: null, number: 5, string: 'x', boolean: true, array: [], object: {} };

it('an unknown parameter is refused by name, with a list of the known ones', async () => {
  expect(routes.length).toBeGreaterThan(45);
  for (const route of [...routes, { method: 'GET', path: '/openapi.json', parameters: [] } as const]) {
    const { status, body } = await ask(route, 'ofset=1');
    expect({ route: route.path, status, code: body['code'] }).toEqual({ route: route.path, status: 400, code: 'REQUEST_INVALID' });
    expect(body['errors']).toContainEqual({ parameter: 'ofset', message: expect.stringContaining('this route takes') as string });
    for (const one of route.parameters.filter((parameter) => parameter.in === 'query')) expect(body['detail']).toContain(one.name);
  }
  expect(store.asked).toEqual([]);
});

it('an unknown value of a parameter is refused, with the known ones', async () => {
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

it('a body field of a wrong type, and an unknown one, are refused by name', async () => {
  let tried = 0;
  for (const route of routes.filter(({ body }) => body !== undefined && resolved(body).properties !== undefined)) {
    const { properties = {}, additionalProperties } = resolved(route.body ?? {});
    const fields = Object.entries(properties).map(([name, schema]) => [name, typesOf(schema)] as const);
    const unknown = additionalProperties === false ? [['unknwon', []] as const] : [];
    for (const [name, types] of [...fields.filter(([, known]) => known.length > 0), ...unknown]) {
      for (const [type, value] of Object.entries(values)) {
        if (types.includes(type)) continue;
        tried += 1;
        const { status, body } = await ask(route, '', { ...bodyOf(route.path), [name]: value });
        const asked = { path: route.path, name, type };
        expect({ ...asked, refused: status === 400 || status === 422 }).toEqual({ ...asked, refused: true });
        expect({ ...asked, text: JSON.stringify(body) }).toEqual({ ...asked, text: expect.stringContaining(name) as string });
      }
    }
  }
  expect(tried).toBeGreaterThan(150);
  expect(store.asked).toEqual([]);
});

const training = (rest: string): string => `/v1/runs/a/${rest}`;
const sha256 = 'a'.repeat(64);
const weights = { version: 0, uri: '', sha256, format: 'gguf' };
it.each<[string, object, string]>([
  [training('trainer'), { trainer_id: 't', rewind: { to_version: 0, reason: null } }, 'rewind.reason'],
  [training('trainer'), { trainer_id: 't', rewind: { to_version: '0' } }, 'rewind.to_version'],
  [training('trainer'), { trainer_id: 't', prepared: { batch_id: 'nonsense', weights_sha256: '' } }, 'prepared.batch_id'],
  [training('batches:lease'), { epoch: 1, lineage: '', held: ['nonsense'] }, 'held.0'],
  [training('batches:lease'), { epoch: 2 ** 31, lineage: '' }, 'epoch'],
  [training('policies'), { ...weights, manifest: [{ name: null, sha256 }] }, 'manifest.0.name'],
  [training('policies'), { ...weights, bytes: '7' }, 'bytes'],
  ['/v1/batches/a%2Fstep%2F1.0:commit', { ...{ epoch: 1, batch_sha256: sha256, policy: null }, metrics: { loss: '1' } }, 'metrics.loss'],
])('%s with %j is refused by name', async (url, payload, parameter) => {
  const answer = await server.app.inject({ method: 'POST', url, payload });
  expect(answer.statusCode).toBe(400);
  expect(answer.json<{ errors: object[] }>().errors).toContainEqual({ parameter, message: expect.any(String) as string });
});

it('a list is given with commas or by repeating the parameter', async () => {
  for (const query of ['fields=step,loss', 'fields=step&fields=loss', 'fields=step,loss&fields=loss']) {
    store.asked.length = 0;
    await server.app.inject(`/v1/runs/a/steps?${query}`);
    expect(store.asked[0]?.sql, query).toMatch(/^select step, loss from steps/);
  }
});

it('a method that a path does not take is answered with 405', async () => {
  for (const { path } of routes) {
    const taken = routes.filter((route) => route.path === path).map(({ method }) => method as string);
    for (const method of ['QUERY', 'DELETE', 'TRACE'].filter((one) => !taken.includes(one))) {
      const answer = await server.app.inject({ method: method as 'GET', url: path.replace(/\{[^}]+\}/g, '1') });
      expect({ path, method, status: answer.statusCode }).toEqual({ path, method, status: 405 });
      expect(answer.headers['allow']).toMatch(/GET|POST|PUT/);
    }
  }
});
