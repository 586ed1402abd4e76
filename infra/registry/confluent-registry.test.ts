import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { subjectOf } from '../../schemas/subjects.ts';
import { createRecordingLogger } from '../testing/logger.ts';
import { createConfluentRegistry } from './confluent-registry.ts';

interface RegistryResponse {
  readonly status: number;
  readonly body: unknown;
}
interface SeenRegistryRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

/** A registry with Confluent's routes and error bodies; `before` may respond in its place. */
async function serve(before: (asked: SeenRegistryRequest) => RegistryResponse | 'hang up' | undefined = () => undefined) {
  const asked: SeenRegistryRequest[] = [];
  const bySubject = new Map<string, string[]>();
  const ids: string[] = [];
  const levels = new Map<string, unknown>();
  const idOf = (schema: string): number => {
    if (!ids.includes(schema)) ids.push(schema);
    return ids.indexOf(schema) + 100;
  };
  const missing = (code: number): RegistryResponse => ({ status: 404, body: { error_code: code, message: 'not found' } });

  const schemaOf = (body: unknown): string => (body as { schema?: string } | undefined)?.schema ?? '';

  function route(call: SeenRegistryRequest): RegistryResponse {
    const [, kind, part = '', ...rest] = call.path.split('/');
    const subject = decodeURIComponent(part);
    if (kind === 'config') {
      levels.set(subject, (call.body as { compatibility: string }).compatibility);
      return { status: 200, body: call.body };
    }
    if (kind === 'schemas') {
      const found = ids[Number(rest[0]) - 100];
      return found === undefined ? missing(40403) : { status: 200, body: { schema: found } };
    }
    if (part === '') return { status: 200, body: [...bySubject.keys()] };
    return call.method === 'POST' && rest[0] === 'versions' ? register(subject, schemaOf(call.body)) : lookUp(subject, call, rest[1]);
  }

  function register(subject: string, schema: string): RegistryResponse {
    if (schema === '{') return { status: 422, body: { error_code: 42201, message: 'Invalid schema' } };
    if (schema === 'incompatible') return { status: 409, body: { error_code: 409, message: 'READER_FIELD_MISSING_DEFAULT_VALUE' } };
    bySubject.set(subject, [...new Set([...(bySubject.get(subject) ?? []), schema])]);
    return { status: 200, body: { id: idOf(schema) } };
  }

  function lookUp(subject: string, call: SeenRegistryRequest, version: string | undefined): RegistryResponse {
    const versions = bySubject.get(subject);
    if (versions === undefined) return missing(40401);
    if (call.method === 'GET' && version === undefined) return { status: 200, body: versions.map((_, index) => index + 1) };
    const schema = call.method === 'POST' ? schemaOf(call.body) : (versions[Number(version) - 1] ?? '');
    return { status: 200, body: { subject, id: idOf(schema), version: versions.indexOf(schema) + 1, schema, schemaType: 'AVRO' } };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const call = {
      method: request.method ?? '',
      path: request.url ?? '',
      authorization: request.headers.authorization,
      body: text === '' ? undefined : (JSON.parse(text) as unknown),
    };
    asked.push(call);
    const early = before(call);
    if (early === 'hang up') {
      request.socket.destroy();
      return;
    }
    const { status, body } = early ?? route(call);
    response.writeHead(status, { 'content-type': 'application/json' }).end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const logger = createRecordingLogger();
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open = (userInfo = '', timeoutMs = 2_000) =>
    createConfluentRegistry({ url: `http://${userInfo}${host}/`, namespace: 'ns', logger, timeoutMs, retryMs: [1, 1] });
  return { asked, levels, open, logger, idOf };
}

describe("Confluent's registry", () => {
  it('publishes all schemas of turnstream under FULL_TRANSITIVE, and uses the ids of the registry', async () => {
    const { open, levels, idOf } = await serve();
    const registry = open();
    expect(() => registry.idOf(publishedSchemas[0]!.schema)).toThrow(RangeError);
    await registry.ensurePublished();
    for (const entry of publishedSchemas) {
      expect(registry.idOf(entry.schema)).toBe(idOf(entry.schema));
      expect(levels.get(subjectOf('ns', entry))).toBe('FULL_TRANSITIVE');
      expect(await registry.byId(idOf(entry.schema))).toBe(entry.schema);
    }
    expect([...(await registry.subjects())].sort()).toEqual([...new Set(publishedSchemas.map((entry) => subjectOf('ns', entry)))].sort());
    await registry.close();
  });

  it('sends the user and the password of its URL in a header, not in the URL', async () => {
    const { open, asked } = await serve();
    await open('me:s%40cret@').subjects();
    expect(asked[0]?.authorization).toBe(`Basic ${Buffer.from('me:s@cret').toString('base64')}`);
    expect(asked[0]?.path).toBe('/subjects');
  });

  it('registers, and lists versions', async () => {
    const { open } = await serve();
    const registry = open();
    expect(await registry.register('a/b c', '"int"')).toEqual({ subject: 'a/b c', version: 1, id: 100, schema: '"int"' });
    expect(await registry.register('a/b c', '"long"')).toMatchObject({ version: 2, id: 101 });
    expect(await registry.versions('a/b c')).toEqual([
      { subject: 'a/b c', version: 1, id: 100, schema: '"int"' },
      { subject: 'a/b c', version: 2, id: 101, schema: '"long"' },
    ]);
    expect(await registry.versions('nobody')).toEqual([]);
  });

  it('looks up a registered id once, and an unknown id every time', async () => {
    const { open, asked } = await serve();
    await open().register('s', '"int"');
    const registry = open();
    asked.length = 0;
    expect([await registry.byId(100), await registry.byId(100), await registry.byId(7), await registry.byId(7)]).toEqual([
      '"int"',
      '"int"',
      undefined,
      undefined,
    ]);
    expect(asked.map(({ path }) => path)).toEqual(['/schemas/ids/100', '/schemas/ids/7', '/schemas/ids/7']);
  });

  it.each([
    ['{', 'SCHEMA_INVALID', /Invalid schema/],
    ['incompatible', 'SCHEMA_INCOMPATIBLE', /READER_FIELD_MISSING/],
  ])('passes on the message of the registry when it refuses the schema %s', async (schema, code, message) => {
    const { open, asked } = await serve();
    await expect(open().register('s', schema)).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
    expect(asked).toHaveLength(1);
  });

  it('retries after an error of the server and after a lost connection', async () => {
    const failures: (RegistryResponse | 'hang up')[] = [{ status: 500, body: { error_code: 50001 } }, 'hang up'];
    const { open, asked } = await serve(() => failures.shift());
    expect(await open().subjects()).toEqual([]);
    expect(asked).toHaveLength(3);
  });

  it('fails with a retriable error after its last try', async () => {
    const { open, asked } = await serve(() => ({ status: 503, body: '' }));
    await expect(open().byId(1)).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE', retriable: true });
    expect(asked).toHaveLength(3);
  });

  it('limits the wait for a response', async () => {
    const stuck = createServer(() => undefined);
    await new Promise<void>((resolve) => stuck.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      stuck.closeAllConnections();
      stuck.close();
    });
    const url = `http://127.0.0.1:${(stuck.address() as AddressInfo).port}`;
    const registry = createConfluentRegistry({ url, namespace: 'ns', logger: createRecordingLogger(), timeoutMs: 50, retryMs: [] });
    await expect(registry.subjects()).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
  });

  it('says when its credentials are refused', async () => {
    const { open } = await serve(() => ({ status: 401, body: { error_code: 40101 } }));
    await expect(open().subjects()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('SCHEMA_REGISTRY_URL') as string,
    });
  });

  it('continues if it may not set the compatibility level, but not if the server fails', async () => {
    const refusing = await serve(({ method }) => (method === 'PUT' ? { status: 403, body: {} } : undefined));
    await refusing.open().ensurePublished();
    expect(refusing.logger.lines[0]?.level).toBe('warn');
    const failing = await serve(({ method }) => (method === 'PUT' ? { status: 500, body: {} } : undefined));
    await expect(failing.open().ensurePublished()).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
  });

  it.each([
    ['no JSON', '<html>'],
    ['no list', {}],
    ['a list of something else', [1]],
  ])('rejects a response with %s', async (_what, body) => {
    const { open } = await serve(() => ({ status: 200, body }));
    await expect(open().subjects()).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
    await expect(open().byId(1)).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
  });
});
