// Access control: no page of another origin, a key with the scope of the route, and a rate limit per key, or per address without keys.
// Requests with wrong keys count against the address.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '../../streams/core/errors.ts';
import { foreignRequest } from '../lifecycle/doors.ts';
import { syncHook } from './hooks.ts';
import { mayUse, presentedKey, type Caller, type KeyRing, type Scope } from './keys.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';
import { SESSION_HEADER, sessionIn } from './sessions.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Scope that this route requires; 'public' requires none. The default is read. */
    scope?: Scope | 'public';
    /** A page without data, which a link on any other page may open. */
    document?: boolean;
  }
}

export interface AccessOptions {
  readonly host: string;
  /** Other host names of the server. */
  readonly names: readonly string[];
  /** Origins whose pages may use the API. */
  readonly origins: readonly string[];
  readonly ring: KeyRing;
  /** Requests per second of one caller; 0 = no limit. */
  readonly perSecond: number;
}

/** Exempt from the limit, so that monitoring does not depend on how much others request. */
const UNLIMITED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Adds the checks as one hook that runs before a body is read. */
export function guardAccess(app: FastifyInstance, options: AccessOptions): void {
  const { ring } = options;
  const limiter = createRateLimiter({ perSecond: options.perSecond, now: () => performance.now() });
  app.addHook(
    'onRequest',
    syncHook((request, reply) => {
      const foreign = foreignRequest(headersToCheck(request), options);
      if (foreign !== undefined) throw foreign;
      const { caller, refusal, bySession } = ring.open ? NOBODY : authorize(ring, request, sessionOf(request, options));
      if (bySession === true) reply.header(SESSION_HEADER, 'signed-in');
      if (!UNLIMITED.has(request.routeOptions.url ?? '')) limit(limiter, caller?.name ?? `address ${request.ip}`);
      if (refusal !== undefined) throw refusal;
    }),
  );
}

/** A link from another site may open a document, which contains no data; the requests of the document itself are of the same origin. */
function headersToCheck({ headers, method, routeOptions }: FastifyRequest): FastifyRequest['headers'] {
  const opened = method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  if (!opened || routeOptions.config.document !== true) return headers;
  return { ...headers, 'sec-fetch-site': 'none' };
}

function limit(limiter: RateLimiter, caller: string): void {
  const waitMs = limiter.take(caller);
  if (waitMs === 0) return;
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  throw new PlatformError('RATE_LIMITED', `counting the requests of ${caller}: too many; try again in ${retryAfterSeconds} s`, {
    context: { retryAfterSeconds },
  });
}

interface AccessDecision {
  readonly caller?: Caller;
  readonly refusal?: PlatformError;
  /** True if a session was accepted, not a key. */
  readonly bySession?: boolean;
}

const NOBODY: AccessDecision = {};

/** Browsers send the cookie automatically, so it is accepted only from pages of the same origin, not from other origins that use keys. */
const sessionOf = ({ headers }: FastifyRequest, options: AccessOptions): string | undefined =>
  foreignRequest(headers, { ...options, origins: [] }) === undefined ? sessionIn(headers.cookie) : undefined;

function authorize(ring: KeyRing, request: FastifyRequest, session: string | undefined): AccessDecision {
  const scope = request.routeOptions.config.scope ?? 'read';
  if (scope === 'public') return NOBODY;
  const key = presentedKey(request.headers);
  if (key === undefined && session === undefined) {
    return { refusal: new PlatformError('UNAUTHENTICATED', 'reading the API key: send Authorization: Bearer <key> or x-api-key: <key>') };
  }
  const caller = key === undefined ? ring.callerOfSession(session ?? '') : ring.callerOf(key);
  if (caller === undefined) return { refusal: unknownCaller(key === undefined) };
  const found = { caller, bySession: key === undefined };
  if (mayUse(caller, scope)) return found;
  const message = `checking the API key: this route needs the scope ${scope}, which the key does not have`;
  return { ...found, refusal: new PlatformError('FORBIDDEN', message) };
}

function unknownCaller(bySession: boolean): PlatformError {
  const why = bySession ? 'the session is over: sign in again' : 'it is not one of the configured keys';
  return new PlatformError('UNAUTHENTICATED', `checking the API key: ${why}`);
}
