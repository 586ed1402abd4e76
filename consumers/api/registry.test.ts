import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HttpServer } from '../../infra/http/server.ts';
import { testApi } from '../../infra/testing/api.ts';
import { createFakeStore } from '../../infra/testing/fake-store.ts';
import { createMemoryRegistry } from '../../infra/testing/memory-registry.ts';
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { contentId, subjectOf } from '../../schemas/subjects.ts';
import { PlatformError } from '../../streams/core/errors.ts';

const entry = publishedSchemas[0]!;
const subject = subjectOf('memory', entry);
const id = contentId(entry.schema);
const media = 'application/vnd.schemaregistry.v1+json';
const record = (fields: readonly unknown[]): string => JSON.stringify({ type: 'record', name: 'R', fields });

let server: HttpServer;
beforeAll(async () => {
  server = await testApi({ store: createFakeStore() });
});
afterAll(async () => {
  await server.close();
});

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

const ask = (method: Method, path: string, payload?: object) => askOf(server, { method, path, payload });

async function askOf(on: HttpServer, request: { method: Method; path: string; payload?: object | undefined }) {
  const { method, path, payload } = request;
  const body = payload === undefined ? {} : { payload: JSON.stringify(payload), headers: { 'content-type': media } };
  const answer = await on.app.inject({ method, url: `/registry${path}`, ...body });
  return { status: answer.statusCode, type: answer.headers['content-type'], body: answer.json<unknown>() };
}

describe('reading as a deserializer does', () => {
  it('gives the schema of an id, whatever the query parameters', async () => {
    for (const query of ['', '?fetchMaxId=false&subject=x', '?format=']) {
      expect(await ask('GET', `/schemas/ids/${id}${query}`)).toEqual({ status: 200, type: media, body: { schema: entry.schema } });
    }
    expect((await ask('GET', `/schemas/ids/${id}/schema`)).body).toEqual(JSON.parse(entry.schema));
    expect((await ask('GET', `/schemas/ids/${id}/subjects`)).body).toEqual([subject]);
    expect((await ask('GET', `/schemas/ids/${id}/versions`)).body).toEqual([{ subject, version: 1 }]);
    expect((await ask('GET', '/schemas/types')).body).toEqual(['AVRO']);
  });

  it('gives subjects and their versions, also with encoded characters', async () => {
    expect((await ask('GET', '/subjects')).body).toContain(subject);
    expect((await ask('GET', '/subjects?subjectPrefix=memory.rollouts')).body).toEqual(
      expect.not.arrayContaining([expect.stringContaining('memory.tasks')]),
    );
    const encoded = Buffer.from(subject).toString('hex').replace(/../g, '%$&');
    for (const name of [subject, encoded]) {
      expect((await ask('GET', `/subjects/${name}/versions`)).body).toEqual([1]);
      for (const version of ['1', 'latest', '-1']) {
        const { body } = await ask('GET', `/subjects/${name}/versions/${version}?deleted=true`);
        expect(body).toEqual({ subject, version: 1, id, schema: entry.schema, schemaType: 'AVRO' });
      }
    }
    expect((await ask('GET', `/subjects/${subject}/versions/1/schema`)).body).toEqual(JSON.parse(entry.schema));
  });

  it('finds a schema whatever its whitespace', async () => {
    const spaced = JSON.stringify(JSON.parse(entry.schema), null, 2);
    expect(await ask('POST', `/subjects/${subject}?normalize=true`, { schema: spaced, schemaType: 'AVRO' })).toMatchObject({
      status: 200,
      body: { id, version: 1 },
    });
  });

  it('reports its compatibility level, which cannot be changed', async () => {
    expect((await ask('GET', '/config')).body).toEqual({ compatibilityLevel: 'FULL_TRANSITIVE' });
    expect((await ask('GET', `/config/${subject}?defaultToGlobal=true`)).body).toEqual({ compatibilityLevel: 'FULL_TRANSITIVE' });
    expect((await ask('PUT', '/config', { compatibility: 'FULL_TRANSITIVE' })).status).toBe(200);
    expect(await ask('PUT', `/config/${subject}`, { compatibility: 'NONE' })).toMatchObject({ status: 422, body: { error_code: 42203 } });
    expect((await ask('GET', '/mode')).body).toEqual({ mode: 'READWRITE' });
  });
});

describe('writing', () => {
  const name = 'team/topic one-value';
  const path = `/subjects/${encodeURIComponent(name)}`;

  it('registers a version, returns it again for the same schema, and checks compatibility', async () => {
    const first = record([{ name: 'a', type: 'string' }]);
    const second = record([
      { name: 'a', type: 'string' },
      { name: 'b', type: 'int', default: 0 },
    ]);
    const third = record([
      { name: 'a', type: 'string' },
      { name: 'c', type: 'int' },
    ]);
    expect(await ask('POST', `${path}/versions`, { schema: first })).toMatchObject({
      status: 200,
      body: { id: contentId(first), version: 1 },
    });
    expect(await ask('POST', `${path}/versions`, { schema: first })).toMatchObject({ body: { version: 1 } });
    expect(await ask('POST', `/compatibility${path}/versions/latest`, { schema: second })).toMatchObject({ body: { is_compatible: true } });
    expect(await ask('POST', `${path}/versions`, { schema: second })).toMatchObject({ body: { version: 2 } });
    const judged = await ask('POST', `/compatibility${path}/versions/1?verbose=true`, { schema: third });
    expect(judged).toMatchObject({ status: 200, body: { is_compatible: false, messages: [expect.stringContaining('version 1')] } });
    expect(await ask('POST', `${path}/versions`, { schema: third })).toMatchObject({ status: 409, body: { error_code: 409 } });
    expect((await ask('GET', `${path}/versions`)).body).toEqual([1, 2]);
  });
});

describe('failures have the codes of Confluent', () => {
  it.each([
    ['GET', '/schemas/ids/1', undefined, 404, 40403],
    ['GET', '/schemas/ids/1/versions', undefined, 404, 40403],
    ['GET', '/schemas/ids/one', undefined, 422, 42201],
    ['GET', '/subjects/none/versions', undefined, 404, 40401],
    ['GET', '/subjects/none/versions/latest', undefined, 404, 40401],
    ['GET', `/subjects/${subject}/versions/7`, undefined, 404, 40402],
    ['GET', `/subjects/${subject}/versions/first`, undefined, 422, 42201],
    ['POST', '/subjects/none', { schema: '"string"' }, 404, 40401],
    ['POST', `/subjects/${subject}`, { schema: '"string"' }, 404, 40403],
    ['POST', `/subjects/${subject}`, { schema: '{' }, 422, 42201],
    ['POST', `/subjects/${subject}`, {}, 422, 42201],
    ['POST', '/subjects/x/versions', { schema: '{' }, 422, 42201],
    ['POST', '/subjects/x/versions', { schema: '{}', schemaType: 'PROTOBUF' }, 422, 42201],
    ['POST', '/subjects/x/versions', { schema: '"int"', references: [{}] }, 422, 42201],
    ['POST', '/compatibility/subjects/none/versions/latest', { schema: '"int"' }, 404, 40401],
    ['POST', `/compatibility/subjects/${subject}/versions/latest`, { schema: '{' }, 422, 42201],
    ['PUT', '/config', {}, 422, 42201],
  ] as const)('%s %s', async (...row) => {
    const [method, path, payload, status, code] = row;
    expect(await ask(method, path, payload)).toMatchObject({
      status,
      type: media,
      body: { error_code: code, message: expect.any(String) as string },
    });
  });

  it('and the format of the other routes where Confluent has none', async () => {
    expect(await ask('DELETE', `/subjects/${subject}`)).toMatchObject({ status: 405, body: { code: 'METHOD_NOT_ALLOWED' } });
    expect(await ask('GET', '/nowhere')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    const failing = (error: Error) =>
      testApi({ store: createFakeStore(), registry: { ...createMemoryRegistry(), subjects: async () => Promise.reject(error) } });
    const away = await failing(new PlatformError('REGISTRY_UNAVAILABLE', 'secret'));
    const broken = await failing(new TypeError('secret'));
    expect(await askOf(away, { method: 'GET', path: '/subjects' })).toMatchObject({
      status: 503,
      body: { error_code: 50003, message: expect.not.stringContaining('secret') as string },
    });
    expect(await askOf(broken, { method: 'GET', path: '/subjects' })).toMatchObject({ status: 500, body: { code: 'INTERNAL' } });
    await away.close();
    await broken.close();
  });

  it('also for SCHEMA_NOT_FOUND of a registry', async () => {
    const registry = { ...createMemoryRegistry(), byId: async () => Promise.reject(new PlatformError('SCHEMA_NOT_FOUND', 'none')) };
    const on = await testApi({ store: createFakeStore(), registry });
    expect(await askOf(on, { method: 'GET', path: '/schemas/ids/1' })).toMatchObject({ status: 404, body: { error_code: 40403 } });
    await on.close();
  });
});
