// ClickHouse's HTTP interface on 127.0.0.1: health checks and authentication; everything else goes to `execute`.
import { randomUUID, timingSafeEqual, createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import type { Logger } from '../../../streams/core/ports.ts';
import { encodingFor, sendFailure, type AnswerContext } from './answer.ts';
import { foreignHeader } from '../../lifecycle/fetch-site.ts';
import { ClickHouseFailure, failureOf } from '../clickhouse-error.ts';
import { execute, type ExecuteDeps } from './execute.ts';
import type { EngineLife } from './life.ts';
import { parseOptions } from './request-options.ts';

export interface ServerDeps extends ExecuteDeps {
  /** Empty disables authentication. */
  readonly password: string;
  readonly life: Pick<EngineLife, 'health' | 'suspect'>;
  readonly logger: Logger;
}

const QUERY_ID = /^[\x20-\x7e]{1,200}$/;

/** Not listening yet. Idle connections stay open for 30 s, at least as long as ClickHouse clients expect. */
export function createStoreServer(deps: ServerDeps): Server {
  const server = createServer({ keepAliveTimeout: 30_000, requestTimeout: 0, maxHeaderSize: 1024 * 1024 }, (request, response) => {
    void answer(deps, request, response);
  });
  server.headersTimeout = 60_000;
  return server;
}

async function answer(deps: ServerDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) gone.abort(new ClickHouseFailure(394, 'QUERY_WAS_CANCELLED', 'The client went away'));
  });
  const base = { response, version: deps.engine.version, timezone: deps.engine.timezone, serverName: hostname() };
  let context: AnswerContext = { ...base, queryId: randomUUID(), encoding: undefined };
  try {
    const url = urlOf(request);
    refuseStrangers(request);
    if (url.pathname === '/ping' && isRead(request)) {
      await ping(deps.life, request, response);
      return;
    }
    checkPassword(deps.password, request, url);
    if (noQuery(url, request, response)) return;
    const options = parseOptions(url, request.headers);
    const queryId = options.queryId !== undefined && QUERY_ID.test(options.queryId) ? options.queryId : context.queryId;
    context = { ...context, queryId, encoding: encodingFor(request, options.compressResponse) };
    const entered = deps.underWay.enter(queryId, (reason) => {
      gone.abort(reason);
    });
    try {
      await execute(deps, { request, options, answer: context, signal: gone.signal, entered });
    } finally {
      entered.leave();
    }
  } catch (error) {
    deps.life.suspect(failureOf(error));
    report(deps.logger, error, { queryId: context.queryId, gone: gone.signal.aborted });
    sendFailure(context, error);
    request.resume();
  }
}

function report(logger: Logger, error: unknown, about: { readonly queryId: string; readonly gone: boolean }): void {
  const failure = failureOf(error);
  const { queryId } = about;
  if (about.gone) logger.debug({ queryId }, 'query ended: its client went away');
  else if (failure.codeName === 'UNKNOWN_EXCEPTION') logger.error({ queryId, err: error }, 'query failed in the store itself');
  else logger.debug({ queryId, clickhouseCode: failure.code, name: failure.codeName }, 'query refused');
}

function urlOf(request: IncomingMessage): URL {
  try {
    return new URL(request.url ?? '/', 'http://store');
  } catch {
    throw new ClickHouseFailure(36, 'BAD_ARGUMENTS', 'The URL of the request cannot be read');
  }
}

const isRead = (request: IncomingMessage): boolean => request.method === 'GET' || request.method === 'HEAD';

/** Health check of the engine: without a password and without any other information. */
async function ping(life: Pick<EngineLife, 'health'>, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const healthy = await life.health().then(
    () => true,
    () => false,
  );
  plain(request, response, healthy ? { status: 200, text: 'Ok.\n' } : { status: 503, text: 'The engine does not answer.\n' });
}

/** Answers `/` and `/replicas_status` without a query, and unknown paths. */
function noQuery(url: URL, request: IncomingMessage, response: ServerResponse): boolean {
  const reads = isRead(request);
  const { pathname } = url;
  if (pathname !== '/' && pathname !== '/query' && !(reads && pathname === '/replicas_status')) {
    return plain(request, response, {
      status: 404,
      text: `There is no handle ${pathname}\n\nUse / or /ping for health checks.\nSend queries to / with POST.\n`,
    });
  }
  if (reads && !url.searchParams.has('query')) return plain(request, response, { status: 200, text: 'Ok.\n' });
  if (reads || request.method === 'POST') return false;
  response.setHeader('Allow', 'GET, HEAD, POST');
  return plain(request, response, { status: 405, text: 'Use GET or POST.\n' });
}

function plain(request: IncomingMessage, response: ServerResponse, answered: { readonly status: number; readonly text: string }): true {
  response.statusCode = answered.status;
  response.setHeader('Content-Type', 'text/html; charset=UTF-8');
  response.end(request.method === 'HEAD' ? undefined : answered.text);
  request.resume();
  return true;
}

/** Web pages can reach 127.0.0.1 as well; only programs on this machine may send requests. */
function refuseStrangers(request: IncomingMessage): void {
  if (foreignHeader(request.headers) === undefined) return;
  throw new ClickHouseFailure(497, 'ACCESS_DENIED', 'The store answers programs on this machine only');
}

function checkPassword(expected: string, request: IncomingMessage, url: URL): void {
  if (expected === '') return;
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  if (timingSafeEqual(digest(givenPassword(request, url)), digest(expected))) return;
  throw new ClickHouseFailure(
    516,
    'AUTHENTICATION_FAILED',
    'Authentication failed: password is incorrect, or there is no user with such name.',
  );
}

function givenPassword(request: IncomingMessage, url: URL): string {
  const key = request.headers['x-clickhouse-key'];
  if (typeof key === 'string') return key;
  const basic = /^Basic (.+)$/i.exec(request.headers.authorization ?? '');
  if (basic === null) return url.searchParams.get('password') ?? '';
  const pair = Buffer.from(basic[1] ?? '', 'base64').toString('utf8');
  return pair.slice(pair.indexOf(':') + 1);
}
