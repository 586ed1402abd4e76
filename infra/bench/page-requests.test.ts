import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HttpServer } from '../http/server.ts';
import { testApi } from '../testing/api.ts';
import { createFakeStore } from '../testing/fake-store.ts';
import { pageRequestsOf, type OpenApiDocument } from './page-requests.ts';

let server: HttpServer;
let document: OpenApiDocument;
beforeAll(async () => {
  server = await testApi({ store: createFakeStore(() => []) });
  document = JSON.parse((await server.app.inject('/openapi.json')).body) as OpenApiDocument;
});
afterAll(() => server.close());

const names = ['run', 'step', 'trajectory', 'group', 'with', 'evaluation', 'other evaluation', 'question', 'tool', 'q'];
const values = new Map(names.map((name) => [name, name === 'step' ? ['1', '2'] : [`${name}-1`, `${name}-2`]]));

it('requests every list of the OpenAPI document, with variants, and nothing that the API refuses', async () => {
  const requests = pageRequestsOf(document, values);
  const told = new Set(requests.map(({ name }) => name));
  const lists = Object.entries(document.paths).filter(([, { get }]) => JSON.stringify(get ?? {}).match(/schemas\/\w+Page"/));
  expect(lists.length).toBeGreaterThan(15);
  for (const [path] of lists) {
    expect(told).toContain(path);
    expect(told).toContain(`${path}?limit=1`);
  }
  for (const name of ['/v1/runs/{run}/tools?since_step=…', '/v1/runs/{run}/tool-calls?result=…', '/v1/runs/{run}/find'])
    expect(told).toContain(name);
  const refused: string[] = [];
  for (const request of requests) {
    const [first, second] = [request.at(0), request.at(1)];
    if (request.name.includes('{')) expect(first).not.toBe(second);
    if ((await server.app.inject(first)).statusCode === 400) refused.push(first);
  }
  expect(refused).toEqual([]);
});

it('fails on a route without values', () => {
  const fewer = new Map([...values].filter(([name]) => name !== 'q'));
  expect(() => pageRequestsOf(document, fewer)).toThrow('/v1/runs/{run}/find (q)');
});
