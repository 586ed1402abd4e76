import fc from 'fast-check';
import { expect, it } from 'vitest';
import { testApi } from '../testing/api.ts';
import { createFakeStore } from '../testing/fake-store.ts';
import { createSession, keyOfSession, SESSION_COOKIE, SESSION_HEADER, SESSION_SECONDS, sessionCookie, sessionIn } from './sessions.ts';

const key = { name: 'key 01', secret: Buffer.from('secret') };
const other = { name: 'key 02', secret: Buffer.from('another') };

it('a session ends after its time, and when its key is removed', () => {
  const session = createSession(key, 1_000);
  expect(keyOfSession(session, [other, key], 2_000)).toBe(key);
  expect(keyOfSession(session, [key], 1_000 + SESSION_SECONDS * 1_000)).toBeUndefined();
  expect(keyOfSession(session, [other], 2_000)).toBeUndefined();
  expect(keyOfSession(session, [{ ...key, secret: other.secret }], 2_000)).toBeUndefined();
});

it('a session with a changed character is invalid', () => {
  const session = createSession(key, 1_000);
  fc.assert(
    fc.property(fc.nat(session.length - 1), fc.constantFrom('a', '0', '.', '_'), (at, letter) => {
      const changed = session.slice(0, at) + letter + session.slice(at + 1);
      // the letter may equal the character that it replaces
      fc.pre(changed !== session);
      expect(keyOfSession(changed, [key], 2_000)).toBeUndefined();
    }),
  );
});

it('a cookie is read as it was set', () => {
  expect(sessionIn(`a=b; ${sessionCookie('s.1.m', true)}`)).toBe('s.1.m');
  expect(sessionCookie('', false)).toBe(`${SESSION_COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`);
  expect(sessionIn(undefined)).toBeUndefined();
});

it('a browser signs in with a key, has its scopes, and signs out', async () => {
  const server = await testApi({ store: createFakeStore(), keys: ['reader-key-0123456789:read'] });
  const refused = await server.app.inject({ method: 'POST', url: '/v1/session', payload: { key: 'wrong' } });
  expect([refused.statusCode, refused.headers['set-cookie']]).toEqual([401, undefined]);
  const answer = await server.app.inject({ method: 'POST', url: '/v1/session', payload: { key: 'reader-key-0123456789' } });
  const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
  const ask = async (url: string, headers = {}) => (await server.app.inject({ url, headers: { cookie, ...headers } })).json<object>();
  expect(await ask('/v1/session')).toEqual({ needs_key: true, signed_in: true, scopes: ['read'] });
  expect(await ask('/v1/session', { cookie: '' })).toMatchObject({ signed_in: false });
  expect((await server.app.inject({ url: '/v1/runs' })).statusCode).toBe(401);
  expect((await server.app.inject({ url: '/v1/runs', headers: { cookie } })).statusCode).not.toBe(401);
  const marked = async (headers: Readonly<Record<string, string>>) =>
    (await server.app.inject({ url: '/v1/runs', headers })).headers[SESSION_HEADER];
  expect(await marked({ cookie })).toBe('signed-in');
  expect(await marked({ 'x-api-key': 'reader-key-0123456789' })).toBeUndefined();
  const forged = { cookie, 'sec-fetch-site': 'same-site' };
  expect(await ask('/v1/runs', forged)).toMatchObject({ code: 'FOREIGN_ORIGIN' });
  const out = await server.app.inject({ method: 'DELETE', url: '/v1/session', headers: { cookie } });
  expect(out.headers['set-cookie']).toContain('Max-Age=0');
  await server.close();
});

it('a key that may not read cannot sign in', async () => {
  const keys = ['writer-key-0123456789:write+record', 'chief-key-0123456789:admin'];
  const server = await testApi({ store: createFakeStore(), keys });
  const signIn = async (key: string) => server.app.inject({ method: 'POST', url: '/v1/session', payload: { key } });
  const refused = await signIn('writer-key-0123456789');
  expect([refused.statusCode, refused.headers['set-cookie']]).toEqual([403, undefined]);
  expect(refused.json<{ detail: string }>().detail).toContain('the scope read');
  expect((await signIn('chief-key-0123456789')).statusCode).toBe(200);
  await server.close();
});

it('if a key is configured twice, the later entry counts, for sessions as for the key itself', async () => {
  const server = await testApi({ store: createFakeStore(), keys: ['twice-key-0123456789:admin', 'twice-key-0123456789:read'] });
  const answer = await server.app.inject({ method: 'POST', url: '/v1/session', payload: { key: 'twice-key-0123456789' } });
  const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
  expect((await server.app.inject({ url: '/v1/session', headers: { cookie } })).json()).toMatchObject({ scopes: ['read'] });
  await server.close();
});

it('a page of another allowed origin needs a key and cannot use the session', async () => {
  const ui = 'http://localhost:5173';
  const server = await testApi({ store: createFakeStore(), keys: ['reader-key-0123456789:read'], corsOrigins: [ui] });
  const key = 'reader-key-0123456789';
  const answer = await server.app.inject({ method: 'POST', url: '/v1/session', payload: { key } });
  const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
  const from = { origin: ui, 'sec-fetch-site': 'same-site' };
  const status = async (headers: Readonly<Record<string, string>>) => (await server.app.inject({ url: '/v1/runs', headers })).statusCode;
  expect(await status({ ...from, cookie })).toBe(401);
  expect(await status({ ...from, 'x-api-key': key })).not.toBe(401);
  expect(await status({ cookie, 'sec-fetch-site': 'same-origin' })).not.toBe(401);
  await server.close();
});
