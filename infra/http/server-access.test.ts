import type { InjectOptions } from 'fastify';
import { describe, expect, it } from 'vitest';
import { isLocalHostHeader } from '../lifecycle/doors.ts';
import { ask, serverWith, setUpServer } from './server.testing.ts';

setUpServer();

describe('the key of a request', () => {
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

  it('accepts any Host header on an address that others can reach', async () => {
    const server = await serverWith({ keys, host: '0.0.0.0' });
    expect((await ask(server, { url: '/small', headers: { host: 'train.example', 'x-api-key': key } })).status).toBe(200);
  });

  it.each([
    ['train.example:443', 200],
    ['10.1.2.3:8787', 200],
    ['localhost:8787', 200],
    ['evil.example', 403],
  ])('with configured names, and the Host header %s: %i', async (host, status) => {
    const server = await serverWith({ keys, host: '0.0.0.0', names: ['train.example'] });
    expect((await ask(server, { url: '/small', headers: { host, 'x-api-key': key } })).status).toBe(status);
    expect((await ask(server, { url: '/healthz', headers: { host } })).status).toBe(status);
  });
});

describe('a caller with too many requests', () => {
  const keys = ['key-of-a-reader-0123:read', 'key-of-another-0123:read'];
  const as = (key: string) => ({ url: '/small', headers: { 'x-api-key': key } });

  it('gets 429 with the time to retry, and other callers do not', async () => {
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

  it('cannot try any number of keys', async () => {
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

  it('is not confused with a user who typed the address, or with a page of this server', async () => {
    const server = await serverWith({});
    expect((await ask(server, { url: '/small', headers: { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' } })).status).toBe(200);
    const own = { 'sec-fetch-site': 'same-origin', host: 'localhost:80', origin: 'http://localhost:80' };
    expect((await ask(server, { url: '/small', headers: own })).status).toBe(200);
  });
});

describe('Host header', () => {
  it.each(['localhost', 'localhost:1', '127.0.0.1:8787', '[::1]:8787', '[::1]', 'LOCALHOST', 'turnstream.localhost:80'])(
    '%s names this machine',
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
  ])('%s does not name this machine', (host) => {
    expect(isLocalHostHeader(host)).toBe(false);
  });
});
