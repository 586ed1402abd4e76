// Who may ask what, and how much: no page of another origin, the scope of the route against the caller's key, and a limit
// of requests for each key, or for each address where there is no key. Wrong keys count against the address.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '../../streams/core/errors.ts';
import { foreignRequest } from '../lifecycle/doors.ts';
import { createKeyRing, mayUse, presentedKey, type Caller, type KeyRing, type Scope } from './keys.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Scope that a key needs for this route; 'public' needs none. Routes that say nothing need read. */
    scope?: Scope | 'public';
  }
}

export interface AccessOptions {
  readonly host: string;
  /** Other host names that people reach it by. */
  readonly names: readonly string[];
  /** Origins whose pages may ask. */
  readonly origins: readonly string[];
  readonly keys: readonly string[];
  /** Requests a second of one caller; 0 = no limit. */
  readonly perSecond: number;
}

/** Monitoring must not starve because its neighbour asks too much. */
const UNLIMITED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Adds the checks as one hook that runs before a body is read. */
export function guardAccess(app: FastifyInstance, options: AccessOptions): void {
  const ring = createKeyRing(options.keys);
  const limiter = createRateLimiter({ perSecond: options.perSecond, now: () => performance.now() });
  app.addHook('onRequest', async (request) => {
    const foreign = foreignRequest(request.headers, options);
    if (foreign !== undefined) throw foreign;
    const { caller, refusal } = ring.open ? NOBODY : authorize(ring, request);
    if (!UNLIMITED.has(request.routeOptions.url ?? '')) limit(limiter, caller?.name ?? `address ${request.ip}`);
    if (refusal !== undefined) throw refusal;
  });
}

function limit(limiter: RateLimiter, caller: string): void {
  const waitMs = limiter.take(caller);
  if (waitMs === 0) return;
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  throw new PlatformError('RATE_LIMITED', `counting the requests of this ${caller}: too many; try again in ${retryAfterSeconds} s`, {
    context: { retryAfterSeconds },
  });
}

interface Admission {
  readonly caller?: Caller;
  readonly refusal?: PlatformError;
}

const NOBODY: Admission = {};

function authorize(ring: KeyRing, request: FastifyRequest): Admission {
  const scope = request.routeOptions.config.scope ?? 'read';
  if (scope === 'public') return NOBODY;
  const key = presentedKey(request.headers);
  if (key === undefined) {
    return { refusal: new PlatformError('UNAUTHENTICATED', 'reading the API key: send Authorization: Bearer <key> or x-api-key: <key>') };
  }
  const caller = ring.callerOf(key);
  if (caller === undefined) {
    return { refusal: new PlatformError('UNAUTHENTICATED', 'checking the API key: it is not one of the configured keys') };
  }
  if (mayUse(caller, scope)) return { caller };
  const message = `checking the API key: this route needs the scope ${scope}, which the key does not have`;
  return { caller, refusal: new PlatformError('FORBIDDEN', message) };
}
