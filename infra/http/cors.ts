// CORS: pages of origins in an allow-list may use this API from a browser; without a list, none may. They send an API key in a header like
// any other client; cookies are not used.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { MethodTable } from './methods.ts';
import { addVary } from './vary.ts';

const REQUEST_HEADERS = 'authorization, content-type, if-none-match, last-event-id, x-api-key, x-request-id';
const ANSWER_HEADERS = 'etag, retry-after, x-request-id';
const PREFLIGHT_SECONDS = '600';

/** The origin of the request if it is in the list. Origins are compared in the form that browsers send: `https://host[:port]`. */
export function allowedOrigin(origins: readonly string[], headers: FastifyRequest['headers']): string | undefined {
  const { origin } = headers;
  return typeof origin === 'string' && origins.includes(origin) ? origin : undefined;
}

/**
 * Adds the CORS headers for allowed origins and answers their preflight requests. Call it before the hooks that require a key: a preflight
 * request has none.
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[], methods: MethodTable): void {
  if (origins.length === 0) return;
  app.addHook('onRequest', async (request, reply) => {
    const origin = allowedOrigin(origins, request.headers);
    addVary(reply, 'origin');
    if (origin === undefined) return;
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': ANSWER_HEADERS,
      'cross-origin-resource-policy': 'cross-origin',
    });
    const taken = methods.of(request.url.split('?')[0] ?? '');
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined || taken.length === 0) return;
    return reply
      .code(204)
      .headers({
        'access-control-allow-methods': taken.join(', '),
        'access-control-allow-headers': REQUEST_HEADERS,
        'access-control-max-age': PREFLIGHT_SECONDS,
      })
      .send();
  });
}
