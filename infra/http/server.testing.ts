// Shared by the tests of the HTTP server: one with a few routes, closed after each test.
import type { InjectOptions } from 'fastify';
import { Type } from 'typebox';
import { afterEach } from 'vitest';
import { recordingMetrics } from '../testing/api.ts';
import { silentLogger } from '../testing/logger.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from './server.ts';

const open: HttpServer[] = [];

/** Call it at the top level of a test file. */
export function setUpServer(): void {
  afterEach(async () => {
    for (const server of open.splice(0)) await server.close();
  });
}

export async function serverWith(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
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
      schema: {
        tags,
        querystring: Type.Object(
          {
            limit: Type.Optional(Type.Integer({ maximum: 10 })),
            share: Type.Optional(Type.Number()),
            open: Type.Optional(Type.Boolean()),
            names: Type.Optional(Type.Array(Type.String())),
          },
          { additionalProperties: false },
        ),
      },
    },
    async ({ query }) => query,
  );
  app.get('/numbered/:id(^[0-9]+$)', { schema: { tags } }, async () => ({}));
  app.post('/items', { config: { scope: 'write' }, schema: { tags, body: Type.Object({ name: Type.String() }) } }, async () => ({
    ok: true,
  }));
  await app.ready();
  return server;
}

export const ask = async (server: HttpServer, request: InjectOptions) => {
  const answer = await server.app.inject(request);
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: answer.headers['content-type']?.toString().includes('json') ? answer.json<Record<string, unknown>>() : answer.body,
  };
};
