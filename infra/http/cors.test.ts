import { afterEach, describe, expect, it } from 'vitest';
import { createFakeStore } from '../testing/fake-store.ts';
import { testApi, type TestApiOptions } from '../testing/api.ts';
import { allowedOrigin } from './cors.ts';
import type { HttpServer } from './server.ts';

const open: HttpServer[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

const UI = 'https://ui.example';

async function api(options: Partial<TestApiOptions> = {}): Promise<HttpServer> {
  const server = await testApi({ store: createFakeStore(), corsOrigins: [UI], ...options });
  open.push(server);
  return server;
}

const corsHeaders = (headers: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

const preflight = (origin: string, method = 'POST') => ({
  method: 'OPTIONS' as const,
  url: '/v1/sql',
  headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization,content-type' },
});

describe('pages of other origins', () => {
  it('are recognized by the Origin header of their browser', () => {
    expect(allowedOrigin([UI], { origin: UI })).toBe(UI);
    expect(allowedOrigin([UI], {})).toBeUndefined();
  });

  it('get nothing by default', async () => {
    const { app } = await api({ corsOrigins: [] });
    const read = await app.inject({ url: '/v1/runs', headers: { origin: UI } });
    expect(corsHeaders(read.headers)).toEqual([]);
    expect(read.headers['cross-origin-resource-policy']).toBe('same-origin');
    const asked = await app.inject(preflight(UI));
    expect({ status: asked.statusCode, cors: corsHeaders(asked.headers) }).toEqual({ status: 403, cors: [] });
  });

  it.each(['https://ui.example.evil', 'http://ui.example', 'https://ui.example:8443', 'null', 'https://UI.example'])(
    'get nothing from %s, which is not in the list',
    async (origin) => {
      const { app } = await api();
      const read = await app.inject({ url: '/v1/runs', headers: { origin } });
      expect(corsHeaders(read.headers)).toEqual([]);
      expect(read.headers['vary']).toContain('origin');
      expect((await app.inject(preflight(origin))).statusCode).toBe(403);
    },
  );

  it('of the list pass the origin check, but only with a host name of this machine', async () => {
    const { app } = await api();
    const headers = { origin: UI, 'sec-fetch-site': 'cross-site' };
    expect((await app.inject({ url: '/v1/runs', headers: { ...headers, host: '127.0.0.1:8787' } })).statusCode).toBe(200);
    expect((await app.inject({ url: '/v1/runs', headers: { ...headers, host: 'evil.example' } })).statusCode).toBe(403);
  });

  it('of the list may read responses, ETags, and errors', async () => {
    const { app } = await api();
    for (const url of ['/v1/runs', '/v1/runs/nobody', '/v1/runs?what=1', '/nowhere', '/registry/subjects']) {
      const { headers } = await app.inject({ url, headers: { origin: UI } });
      expect(headers, url).toMatchObject({
        'access-control-allow-origin': UI,
        'cross-origin-resource-policy': 'cross-origin',
        vary: expect.stringContaining('origin') as string,
      });
      expect(headers['access-control-expose-headers']).toContain('etag');
      expect(headers).not.toHaveProperty('access-control-allow-credentials');
    }
    const [first] = [await app.inject({ url: '/v1/runs', headers: { origin: UI } })];
    const again = await app.inject({ url: '/v1/runs', headers: { origin: UI, 'if-none-match': String(first.headers['etag']) } });
    expect({ status: again.statusCode, vary: again.headers['vary'] }).toEqual({ status: 304, vary: 'origin, accept-encoding' });
  });

  it('of the list may send preflight requests without a key, which the request itself needs', async () => {
    const { app } = await api({ keys: ['key-of-an-analyst-01:sql'] });
    const asked = await app.inject(preflight(UI));
    expect(asked.statusCode).toBe(204);
    expect(asked.headers).toMatchObject({ 'access-control-allow-origin': UI, 'access-control-allow-methods': 'POST' });
    expect(asked.headers['access-control-allow-headers']).toContain('authorization');
    expect((await app.inject({ method: 'POST', url: '/v1/sql', headers: { origin: UI }, payload: { query: 'select 1' } })).statusCode).toBe(
      401,
    );
  });
});
