// The HTTP server that all routes run in: access control, error responses, metrics, and shutdown. Guarantees: an invalid request is never a
// 500; no message or stack of an unknown error leaves the process; close() lets running requests end for up to `closeTimeoutMs`, and then
// closes their connections.
import { randomUUID } from 'node:crypto';
import swagger from '@fastify/swagger';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Logger } from '../../streams/core/ports.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import { guardAccess } from './access.ts';
import { allowOrigins } from './cors.ts';
import { shapeAnswers } from './answers.ts';
import { syncHook } from './hooks.ts';
import { createKeyRing, type KeyRing } from './keys.ts';
import { listenError } from './listen-error.ts';
import { watchMethods, type MethodTable } from './methods.ts';
import { finishDocument, openapiOptions } from './openapi.ts';
import { parametersOf, watchParameters } from './parameters.ts';
import { answerOf } from './problem.ts';
import { addHealthRoutes, type HealthSources } from './probes.ts';
import { addSessionRoutes } from './session.route.ts';
import { takeTickets } from './tickets.ts';

export interface HttpServerOptions extends HealthSources {
  readonly host: string;
  /** Other host names of the server, such as that of a reverse proxy. */
  readonly names?: readonly string[];
  /** 0 picks a free port. */
  readonly port: number;
  /** `<key>:<scope>[+<scope>…]`; none: everything is allowed, on loopback only. */
  readonly keys: readonly string[];
  /**
   * Token for single-use sign-in links. It is a key with every scope if there are no other keys, and with the scopes read and sql
   * otherwise.
   */
  readonly dashboardToken?: string;
  readonly version: string;
  /** Origins whose pages may use the API from a browser; none by default. */
  readonly corsOrigins?: readonly string[];
  /** How long a response to a read may be reused for equal requests, ms; 0 or absent: never. */
  readonly freshMs?: number;
  /** Requests per second of each key, or of each client address if there are no keys; 0 or absent: no limit. */
  readonly requestsPerSecond?: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** How long close() waits for running requests; 5 s by default. */
  readonly closeTimeoutMs?: number;
}

export interface HttpServer {
  /** Register route plugins here before listen(). */
  readonly app: FastifyInstance;
  /** Throws PORT_IN_USE if another program uses the port. */
  listen(): Promise<{ readonly url: string; readonly port: number }>;
  close(): Promise<void>;
}

const BODY_BYTES = 1_048_576;
/** Large enough for all filters of a list at their maximum length. */
const HEADER_BYTES = 65_536;
const REQUEST_ID = /^[\w.-]{1,64}$/;

/** Builds the server with its system routes; listen() starts it. */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const app = fastify({
    logger: false,
    http: { maxHeaderSize: HEADER_BYTES },
    bodyLimit: BODY_BYTES,
    requestIdHeader: false,
    genReqId: ({ headers }) => requestIdOf(headers['x-request-id']),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // unknown parameters are reported, not dropped silently; parameters.ts converts those that arrive as texts
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, allErrors: true } },
    frameworkErrors: (error, request, reply) => {
      sendProblem({ error, request, reply, logger: options.logger });
    },
    clientErrorHandler: (error, socket) => {
      answerUnreadable(error, socket);
    },
    routerOptions: { maxParamLength: 512 },
  });
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
  const methods = watchMethods(app);
  watchParameters(app);
  const ring = createKeyRing(keysOf(options));
  addCrossCutting(app, options, { methods, ring });
  await app.register(swagger, openapiOptions(options.version));
  app.get('/openapi.json', { config: { scope: 'public' }, schema: { hide: true } }, () => finishDocument(app.swagger()));
  addHealthRoutes(app, options);
  addSessionRoutes(app, ring);
  return { app, listen: () => listen(app, options), close: () => closeWithin(app, options.closeTimeoutMs ?? 5_000) };
}

function keysOf({ keys, dashboardToken = '' }: HttpServerOptions): readonly string[] {
  return dashboardToken === '' ? keys : [...keys, `${dashboardToken}:${keys.length === 0 ? 'admin' : 'read+sql'}`];
}

function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && REQUEST_ID.test(header) ? header : randomUUID();
}

interface Shared {
  readonly methods: MethodTable;
  readonly ring: KeyRing;
}

function addCrossCutting(app: FastifyInstance, options: HttpServerOptions, { methods, ring }: Shared): void {
  const { logger, metrics } = options;
  app.addHook(
    'onRequest',
    syncHook((request, reply) => void reply.headers(commonHeaders(request))),
  );
  const origins = options.corsOrigins ?? [];
  allowOrigins(app, origins, methods);
  guardAccess(app, {
    ...{ host: options.host, names: options.names ?? [], origins },
    ...{ ring, perSecond: options.requestsPerSecond ?? 0 },
  });
  const { dashboardToken = '' } = options;
  if (dashboardToken !== '') takeTickets(app, ring, dashboardToken);
  app.addHook(
    'onRequest',
    syncHook((request, reply) => {
      if (request.is404) refuseRoute(request, reply, methods);
    }),
  );
  shapeAnswers(app, { freshMs: options.freshMs ?? 0 });
  app.addHook(
    'onResponse',
    syncHook((request, reply) => {
      const route = request.routeOptions.url ?? 'none';
      metrics.count('api_requests_total', { route, status: String(reply.statusCode) });
      metrics.observe('api_request_seconds', { route }, reply.elapsedTime / 1_000);
      logger.debug({ request_id: request.id, method: request.method, route, status: reply.statusCode, ms: reply.elapsedTime }, 'a request');
    }),
  );
  app.setErrorHandler((error, request, reply) => {
    sendProblem({ error, request, reply, logger });
  });
}

/** Runs before a body is read, so that a request to an unknown route gets 404 and not an error about its body. */
function refuseRoute(request: FastifyRequest, reply: FastifyReply, methods: MethodTable): never {
  const path = request.url.split('?')[0] ?? '';
  const allowed = methods.of(path);
  // if the routes of this path take the method, a part of the path is invalid
  if (allowed.length === 0 || allowed.includes(request.method)) {
    throw new PlatformError('NOT_FOUND', `answering ${request.method} ${path}: there is no such route; see /openapi.json`);
  }
  reply.header('allow', allowed.join(', '));
  throw new PlatformError('METHOD_NOT_ALLOWED', `answering ${request.method} ${path}: this path takes ${allowed.join(', ')}`);
}

/** Headers of every response, including those that no hook runs for. */
const commonHeaders = (request: FastifyRequest): Readonly<Record<string, string>> => ({
  'x-request-id': request.id,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
});

function sendProblem(parts: {
  readonly error: unknown;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly logger: Logger;
}): void {
  const { error, request, reply, logger } = parts;
  const { problem, headers, unexpected } = answerOf(error, request.id, parametersOf(request));
  const fields = { request_id: request.id, method: request.method, route: request.routeOptions.url, err: error };
  if (unexpected) logger.error(fields, 'a request failed');
  else if (problem.status >= 500 && problem.code !== 'NOT_READY') logger.warn(fields, 'a request could not be answered now');
  void reply
    .code(problem.status)
    .headers({ ...commonHeaders(request), ...corsKept(reply), ...headers })
    .type('application/problem+json')
    .send(JSON.stringify(problem));
}

/** Lets a page of an allowed origin read why its request was refused. */
const corsKept = (reply: FastifyReply): Readonly<Record<string, string>> =>
  reply.hasHeader('access-control-allow-origin') ? { 'cross-origin-resource-policy': 'cross-origin' } : {};

/** Handles bytes that are not HTTP: there is no request to respond to, only a socket. */
function answerUnreadable(error: Error & { readonly code?: string }, socket: NodeJS.WritableStream & { destroy(): unknown }): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const failure = new PlatformError('REQUEST_INVALID', 'reading the request: it is not valid HTTP');
  const body = JSON.stringify(answerOf(failure, randomUUID()).problem);
  socket.end(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

async function listen(app: FastifyInstance, options: HttpServerOptions): Promise<{ url: string; port: number }> {
  try {
    await app.listen({ host: options.host, port: options.port });
  } catch (cause) {
    throw listenError(`${options.host}:${options.port}`, 'TURNSTREAM_API_PORT', cause);
  }
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  const name = options.host.includes(':') ? `[${options.host}]` : options.host;
  return { url: `http://${name}:${port}`, port };
}

async function closeWithin(app: FastifyInstance, timeoutMs: number): Promise<void> {
  const timer = setTimeout(() => {
    app.server.closeAllConnections();
  }, timeoutMs);
  try {
    await app.close();
  } finally {
    clearTimeout(timer);
  }
}
