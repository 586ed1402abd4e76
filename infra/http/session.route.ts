// Sign-in of browsers. A key is sent once, in a request body, and is never in an address or in the storage of the page.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { PlatformError } from '../../streams/core/errors.ts';
import { mayUse, type Caller, type KeyRing } from './keys.ts';
import { isSecure, sessionCookie, sessionIn } from './sessions.ts';

const shown = Type.Object(
  {
    needs_key: Type.Boolean({ description: 'False where no keys are configured: then everything is allowed.' }),
    signed_in: Type.Boolean(),
    scopes: Type.Array(Type.String()),
  },
  { title: 'Session' },
);

const schemaOf = (operationId: string, summary: string) => ({
  tags: ['operation'],
  operationId,
  summary,
  response: { 200: Type.Unsafe({ ...shown, 'x-response-description': 'As it is now.' }) },
});

const body = Type.Object({ key: Type.String({ minLength: 1, maxLength: 1_000 }) }, { additionalProperties: false });

const NEEDS_READ = 'signing in: the key does not have the scope read, which every page needs; use a key that has it';

/** Registers /v1/session. */
export function addSessionRoutes(app: FastifyInstance, ring: KeyRing): void {
  const config = { scope: 'public' } as const;
  const state = (caller: Caller | undefined) => ({
    needs_key: !ring.open,
    signed_in: ring.open || caller !== undefined,
    scopes: ring.open ? ['admin'] : [...(caller?.scopes ?? [])].sort(),
  });

  app.get('/v1/session', { config, schema: schemaOf('getSession', 'Whether this browser is signed in') }, async (request) =>
    state(ring.callerOfSession(sessionIn(request.headers.cookie) ?? '')),
  );

  app.post<{ Body: { readonly key: string } }>(
    '/v1/session',
    { config, schema: { ...schemaOf('signIn', 'Sign in with a key: the answer sets a cookie for 12 hours'), body } },
    async (request, reply) => {
      if (ring.open) return state(undefined);
      const caller = ring.callerOf(request.body.key);
      if (caller === undefined) throw new PlatformError('UNAUTHENTICATED', 'signing in: it is not one of the configured keys');
      if (!mayUse(caller, 'read')) throw new PlatformError('FORBIDDEN', NEEDS_READ);
      reply.header('set-cookie', sessionCookie(ring.sessionOf(caller), isSecure(request.headers)));
      return state(caller);
    },
  );

  app.delete('/v1/session', { config, schema: schemaOf('signOut', 'Sign out: the answer removes the cookie') }, async (request, reply) => {
    reply.header('set-cookie', sessionCookie('', isSecure(request.headers)));
    return state(undefined);
  });
}
