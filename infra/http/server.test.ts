import { connect } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { InjectOptions } from 'fastify';
import { Type } from 'typebox';
import { afterEach, describe, expect, it } from 'vitest';
import { recordingMetrics } from '../testing/api.ts';
import { createRecordingLogger, silentLogger } from '../testing/logger.ts';
import { isLocalHostHeader } from '../lifecycle/doors.ts';
import { codingOf } from './codings.ts';
import { runProbes } from './probes.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from './server.ts';

const open: HttpServer[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serverWith(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const server = await createHttpServer({
    host: '127.0.0.1',
    port: 0,
    keys: [],
    version: '1.2.3',
    logger: silentLogger,
    metrics: recordingMetrics(),
    metricsText: () => 'up 1\n',
    status: () => ({ state: 'live', detail: '', figures: { step: 3 } }),
    probes: [],
    ...options,
  });
  open.push(server);
  const { app } = server;
  const tags = ['test'];
  app.get('/big', { schema: { tags } }, async () => ({ text: 'x'.repeat(5_000) }));
  app.get('/small', { schema: { tags } }, async () => ({ text: 'x' }));
  app.get('/bug', { schema: { tags } }, async () => {
    throw new Error('the secret of the bug');
  });
  app.get(
    '/items/:id',
    {
      schema: { tags, querystring: Type.Object({ limit: Type.Optional(Type.Integer({ maximum: 10 })) }, { additionalProperties: false }) },
    },
    async () => ({}),
  );
  app.post('/items', { config: { scope: 'write' }, schema: { tags, body: Type.Object({ name: Type.String() }) } }, async () => ({
    ok: true,
  }));
  await app.ready();
  return server;
}

const ask = async (server: HttpServer, request: InjectOptions) => {
  const answer = await server.app.inject(request);
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: answer.headers['content-type']?.toString().includes('json') ? answer.json<Record<string, unknown>>() : answer.body,
  };
};

describe('answers of the shell', () => {
  it.each<[string, InjectOptions, number, string]>([
    ['an unknown route', { url: '/nowhere' }, 404, 'NOT_FOUND'],
    ['a wrong method', { method: 'DELETE', url: '/items/1' }, 405, 'METHOD_NOT_ALLOWED'],
    ['a wrong method on a list', { method: 'GET', url: '/items' }, 405, 'METHOD_NOT_ALLOWED'],
    [
      'malformed JSON',
      { method: 'POST', url: '/items', headers: { 'content-type': 'application/json' }, payload: '{"a":' },
      400,
      'REQUEST_INVALID',
    ],
    [
      'an empty JSON body',
      { method: 'POST', url: '/items', headers: { 'content-type': 'application/json' }, payload: '' },
      400,
      'REQUEST_INVALID',
    ],
    ['no body', { method: 'POST', url: '/items' }, 400, 'REQUEST_INVALID'],
    ['a missing field', { method: 'POST', url: '/items', payload: {} }, 400, 'REQUEST_INVALID'],
    [
      'prototype pollution',
      { method: 'POST', url: '/items', headers: { 'content-type': 'application/json' }, payload: '{"__proto__":{"a":1}}' },
      400,
      'REQUEST_INVALID',
    ],
    [
      'another media type',
      { method: 'POST', url: '/items', headers: { 'content-type': 'text/xml' }, payload: '<a/>' },
      415,
      'MEDIA_TYPE_UNSUPPORTED',
    ],
    ['a body that is too large', { method: 'POST', url: '/items', payload: { name: 'x'.repeat(2_000_000) } }, 413, 'BODY_TOO_LARGE'],
    ['a URL that cannot be decoded', { url: '/items/%zz' }, 400, 'REQUEST_INVALID'],
    ['a parameter over its limit', { url: '/items/1?limit=11' }, 400, 'REQUEST_INVALID'],
    ['a parameter of another type', { url: '/items/1?limit=many' }, 400, 'REQUEST_INVALID'],
    ['a parameter that nobody knows', { url: '/items/1?offset=3' }, 400, 'REQUEST_INVALID'],
    ['a parameter of a path that is too long', { url: `/items/${'x'.repeat(600)}` }, 400, 'REQUEST_INVALID'],
    ['a name that was rebound to this machine', { url: '/small', headers: { host: 'evil.example:8787' } }, 403, 'FOREIGN_ORIGIN'],
    ['a bug', { url: '/bug' }, 500, 'INTERNAL'],
  ])('%s', async (...row) => {
    const [, request, status, code] = row;
    const answer = await ask(await serverWith(), request);
    expect(answer.body).toMatchObject({ code, request_id: answer.headers['x-request-id'] });
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.status < 500 || code === 'INTERNAL').toBe(true);
    expect(JSON.stringify(answer.body)).not.toMatch(/secret|node_modules|\.ts/);
  });

  it('names the parameter', async () => {
    const { body } = await ask(await serverWith(), { url: '/items/1?offset=3&limit=99' });
    expect(body).toMatchObject({ errors: [{ parameter: 'offset' }, { parameter: 'limit' }] });
  });

  it('says which methods a path takes', async () => {
    expect((await ask(await serverWith(), { method: 'PUT', url: '/items' })).headers['allow']).toBe('POST');
  });

  it('logs a bug with its request id, and nothing of a bad request', async () => {
    const logger = createRecordingLogger();
    const server = await serverWith({ logger });
    await ask(server, { url: '/nowhere' });
    const loud = () => logger.lines.filter(({ level }) => level !== 'debug');
    expect(loud()).toEqual([]);
    const { headers } = await ask(server, { url: '/bug', headers: { 'x-request-id': 'mine-1' } });
    expect(headers['x-request-id']).toBe('mine-1');
    expect(loud()).toMatchObject([{ level: 'error', fields: { request_id: 'mine-1', route: '/bug' } }]);
    expect(logger.lines.filter(({ level }) => level === 'debug')).toMatchObject([
      { fields: { route: 'none', status: 404 } },
      { fields: { request_id: 'mine-1', route: '/bug', status: 500 } },
    ]);
  });

  it('does not take a request id that is no id', async () => {
    const { headers } = await ask(await serverWith(), { url: '/small', headers: { 'x-request-id': 'a b\tc' } });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('carries security headers', async () => {
    const { headers } = await ask(await serverWith(), { url: '/small' });
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY', 'cache-control': 'no-store' });
  });

  it('compresses what is large, for those who take it', async () => {
    const { app } = await serverWith();
    const large = await app.inject({ url: '/big', headers: { 'accept-encoding': 'gzip' } });
    expect(large.headers['content-encoding']).toBe('gzip');
    expect(Number(large.headers['content-length'])).toBe(large.rawPayload.length);
    expect(JSON.parse(gunzipSync(large.rawPayload).toString())).toEqual({ text: 'x'.repeat(5_000) });
    const smaller = await app.inject({ url: '/big', headers: { 'accept-encoding': 'gzip, br' } });
    expect(smaller.headers['content-encoding']).toBe('br');
    expect(JSON.parse(brotliDecompressSync(smaller.rawPayload).toString())).toEqual({ text: 'x'.repeat(5_000) });
    expect((await app.inject({ url: '/big' })).headers['content-encoding']).toBeUndefined();
    expect((await app.inject({ url: '/small', headers: { 'accept-encoding': 'gzip' } })).headers['content-encoding']).toBeUndefined();
  });

  it('counts by route, not by path', async () => {
    const metrics = recordingMetrics();
    const server = await serverWith({ metrics });
    await ask(server, { url: '/items/1' });
    await ask(server, { url: '/nowhere' });
    expect(metrics.counted.map(({ labels }) => labels)).toEqual([
      { route: '/items/:id', status: '200' },
      { route: 'none', status: '404' },
    ]);
  });
});

describe('keys at the door', () => {
  const key = 'key-of-a-reader-0123';
  const writer = 'key-of-a-writer-0123';
  const keys = [`${key}:read`, `${writer}:write`];

  it.each<[string, InjectOptions, number]>([
    ['none', { url: '/small' }, 401],
    ['a wrong one', { url: '/small', headers: { authorization: 'Bearer wrong' } }, 401],
    ['a right one', { url: '/small', headers: { authorization: `Bearer ${key}` } }, 200],
    ['a right one in x-api-key', { url: '/small', headers: { 'x-api-key': key } }, 200],
    ['one without the scope', { method: 'POST', url: '/items', payload: { name: 'x' }, headers: { 'x-api-key': key } }, 403],
    ['one with the scope', { method: 'POST', url: '/items', payload: { name: 'x' }, headers: { 'x-api-key': writer } }, 200],
    ['one with another scope', { url: '/small', headers: { 'x-api-key': writer } }, 403],
    ['none, for an unknown route', { url: '/nowhere' }, 401],
    ['none, for the metrics', { url: '/metrics' }, 401],
    ['none, for public routes', { url: '/healthz' }, 200],
    ['none, for the document', { url: '/openapi.json' }, 200],
  ])('%s', async (_which, request, status) => {
    expect((await ask(await serverWith({ keys }), request)).status).toBe(status);
  });

  it('asks for any Host on an address that others can reach', async () => {
    const server = await serverWith({ keys, host: '0.0.0.0' });
    expect((await ask(server, { url: '/small', headers: { host: 'train.example', 'x-api-key': key } })).status).toBe(200);
  });
});

describe('a caller who asks too much', () => {
  const keys = ['key-of-a-reader-0123:read', 'key-of-another-0123:read'];
  const as = (key: string) => ({ url: '/small', headers: { 'x-api-key': key } });

  it('is told when to come back, and the others are not', async () => {
    const server = await serverWith({ keys, requestsPerSecond: 1 });
    const reader = as('key-of-a-reader-0123');
    expect([(await ask(server, reader)).status, (await ask(server, reader)).status]).toEqual([200, 200]);
    const refused = await ask(server, reader);
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(refused.headers['retry-after']).toBe('1');
    expect(JSON.stringify(refused.body)).not.toContain('key-of-a-reader');
    expect((await ask(server, as('key-of-another-0123'))).status).toBe(200);
    expect((await ask(server, { url: '/healthz' })).status).toBe(200);
  });

  it('cannot try keys without end', async () => {
    const server = await serverWith({ keys, requestsPerSecond: 2 });
    const statuses = [];
    for (let guess = 0; guess < 6; guess += 1) statuses.push((await ask(server, as(`guess-${guess}`))).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429, 429]);
  });
});

describe('a page of another origin', () => {
  const foreign = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { host: 'evil.example' },
  ];

  it('is refused on every route and by every method, before anything of the request is read', async () => {
    const server = await serverWith({});
    const urls = ['/small', '/items', '/nowhere', '/healthz', '/readyz', '/metrics', '/openapi.json'];
    for (const headers of foreign) {
      for (const url of urls) {
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'] as const) {
          const response = await server.app.inject({ method, url, headers });
          expect([method, url, response.statusCode]).toEqual([method, url, 403]);
          expect(response.headers['content-type']).toContain('application/problem+json');
          if (method !== 'HEAD') expect(response.json()).toMatchObject({ code: 'FOREIGN_ORIGIN' });
          expect(response.headers).not.toHaveProperty('access-control-allow-origin');
        }
      }
    }
  });

  it('is not what a user is who typed the address', async () => {
    const server = await serverWith({});
    expect((await ask(server, { url: '/small', headers: { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' } })).status).toBe(200);
    const own = { 'sec-fetch-site': 'same-origin', host: 'localhost:80', origin: 'http://localhost:80' };
    expect((await ask(server, { url: '/small', headers: own })).status).toBe(200);
  });
});

describe('Host header', () => {
  it.each(['localhost', 'localhost:1', '127.0.0.1:8787', '[::1]:8787', '[::1]', 'LOCALHOST', 'turnstream.localhost:80'])(
    '%s is ours',
    (host) => {
      expect(isLocalHostHeader(host)).toBe(true);
    },
  );
  it.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.1@evil',
    '[::1',
    '::1',
    'localhost:x',
    'a b',
  ])('%s is not', (host) => {
    expect(isLocalHostHeader(host)).toBe(false);
  });
});

describe('health', () => {
  const probe = (name: string, check: () => Promise<void>) => ({ name, check });

  it('is alive whatever its dependencies do, and says how they are', async () => {
    const server = await serverWith({
      probes: [
        probe('kafka', async () => undefined),
        probe('store', async () => {
          throw new Error('refused');
        }),
      ],
    });
    expect(await ask(server, { url: '/healthz' })).toMatchObject({
      status: 200,
      body: {
        alive: true,
        state: 'live',
        figures: { step: 3 },
        dependencies: [
          { name: 'kafka', state: 'up' },
          { name: 'store', state: 'down', detail: 'refused' },
        ],
      },
    });
  });

  it('is ready only when all of them are up', async () => {
    let up = false;
    const server = await serverWith({
      probes: [
        probe('store', async () => {
          if (!up) throw new Error('refused');
        }),
      ],
    });
    const before = await ask(server, { url: '/readyz' });
    expect(before).toMatchObject({ status: 503, body: { code: 'NOT_READY' } });
    expect((before.body as { detail: string }).detail).toContain('store');
    up = true;
    expect(await ask(server, { url: '/readyz' })).toMatchObject({ status: 200, body: { ready: true } });
  });

  it('does not wait for one that hangs', async () => {
    expect(await runProbes([probe('hung', () => new Promise(() => undefined))], 5)).toMatchObject([
      { state: 'down', detail: 'no answer within 5 ms' },
    ]);
  });

  it('shows metrics as Prometheus reads them', async () => {
    const { headers, body } = await ask(await serverWith(), { url: '/metrics' });
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(body).toBe('up 1\n');
  });
});

describe('Accept-Encoding', () => {
  it.each([
    ['gzip', 'gzip'],
    ['br, gzip;q=0.5', 'br'],
    ['br;q=0.2, gzip;q=0.5', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['*', 'br'],
    ['*, br;q=0', 'gzip'],
    ['gzip;q=0', 'identity'],
    ['GZIP ; q=1.0', 'gzip'],
    ['deflate', 'identity'],
    ['', 'identity'],
    [undefined, 'identity'],
    ['gzip; q=0.0', 'identity'],
    ['gzip;q=x', 'identity'],
  ])('%s is %s', (header, coding) => {
    expect(codingOf(header)).toBe(coding);
  });
});

describe('a socket', () => {
  it('is listened on, and a taken port is told by name', async () => {
    const server = await serverWith();
    const { url, port } = await server.listen();
    expect((await fetch(`${url}/small`)).status).toBe(200);
    const second = await serverWith({ port });
    await expect(second.listen()).rejects.toMatchObject({ code: 'PORT_IN_USE' });
  });

  it('is told why it is not listened on', async () => {
    await expect((await serverWith({ host: '203.0.113.1' })).listen()).rejects.toThrow('listening on 203.0.113.1');
  });

  it('gets a problem for bytes that are no HTTP', async () => {
    const server = await serverWith();
    const { port } = await server.listen();
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('this is not http\r\n\r\n'));
      const parts: Buffer[] = [];
      socket.on('data', (part) => parts.push(part));
      socket.on('close', () => {
        resolve(Buffer.concat(parts).toString());
      });
    });
    expect(answer).toContain('400 Bad Request');
    expect(answer).toContain('REQUEST_INVALID');
  });

  it('is cut when a request does not end in time', async () => {
    const server = await serverWith({ closeTimeoutMs: 20 });
    const arrived = new Promise((resolve) => server.app.server.once('request', resolve));
    const { port } = await server.listen();
    const socket = connect(port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write('POST /items HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined).resume();
    await arrived;
    await server.close();
    await closed;
  });
});
