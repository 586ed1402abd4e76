import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { InjectOptions } from 'fastify';
import { describe, expect, it } from 'vitest';
import { recordingMetrics } from '../testing/api.ts';
import { createRecordingLogger } from '../testing/logger.ts';
import { codingOf } from './codings.ts';
import { ask, serverWith, setUpServer } from './server.testing.ts';

setUpServer();

describe('responses of the server', () => {
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
    ['null in place of a text', { method: 'POST', url: '/items', payload: { name: null } }, 400, 'REQUEST_INVALID'],
    ['a number in place of a text', { method: 'POST', url: '/items', payload: { name: 5 } }, 400, 'REQUEST_INVALID'],
    ['a list in place of a text', { method: 'POST', url: '/items', payload: { name: ['a'] } }, 400, 'REQUEST_INVALID'],
    [
      'null in place of an object',
      { method: 'POST', url: '/items', payload: 'null', headers: { 'content-type': 'application/json' } },
      400,
      'REQUEST_INVALID',
    ],
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
    ['a parameter twice', { url: '/items/1?limit=1&limit=2' }, 400, 'REQUEST_INVALID'],
    ['a part of a path that fits no route', { url: '/numbered/a' }, 404, 'NOT_FOUND'],
    ['an unknown parameter', { url: '/items/1?offset=3' }, 400, 'REQUEST_INVALID'],
    ['a parameter of a path that is too long', { url: `/items/${'x'.repeat(600)}` }, 400, 'REQUEST_INVALID'],
    ['another domain that resolves to this machine', { url: '/small', headers: { host: 'evil.example:8787' } }, 403, 'FOREIGN_ORIGIN'],
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

  it('name the invalid parameters', async () => {
    const { body } = await ask(await serverWith(), { url: '/items/1?offset=3&limit=99' });
    expect(body).toMatchObject({ errors: [{ parameter: 'offset' }, { parameter: 'limit' }] });
  });

  it('list the methods that a path takes', async () => {
    expect((await ask(await serverWith(), { method: 'PUT', url: '/items' })).headers['allow']).toBe('POST');
  });

  it('are logged for a bug, with its request id, but not for a bad request', async () => {
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

  it('have a new request id if that of the request is invalid', async () => {
    const { headers } = await ask(await serverWith(), { url: '/small', headers: { 'x-request-id': 'a b\tc' } });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('have security headers', async () => {
    const { headers } = await ask(await serverWith(), { url: '/small' });
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY', 'cache-control': 'no-store' });
  });

  it('are compressed if they are large and the client accepts it', async () => {
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

  it('are counted by route, not by path', async () => {
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
