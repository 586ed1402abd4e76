// Sign-in for browsers: a page sends a key once and gets a cookie, because it cannot add a header to every request of its browser. The
// cookie contains the name of the key, the end of the session, and a MAC whose key is the digest of the API key. So no session is stored,
// any number of API processes accept it, and it ends after its time or when the API key is removed from the configuration.
import { createHmac, timingSafeEqual } from 'node:crypto';

export const SESSION_COOKIE = 'turnstream_session';
/** Header of responses to requests that a session authenticated: pages cannot read the cookie itself. */
export const SESSION_HEADER = 'x-turnstream-session';
/** How long a sign-in lasts, s. */
export const SESSION_SECONDS = 12 * 3_600;

/** What a session is made from: a name that distinguishes keys, and a secret of the key. */
export interface SessionKey {
  readonly name: string;
  readonly secret: Buffer;
}

/** `<name>.<end, ms since 1970>.<mac>` */
export function createSession(key: SessionKey, nowMs = Date.now()): string {
  const end = nowMs + SESSION_SECONDS * 1_000;
  return `${hexOf(key.name)}.${end}.${macOf(key, end)}`;
}

/** The key that a session was made with; undefined when it is over, forged, or of a key that was removed. */
export function keyOfSession<K extends SessionKey>(session: string, keys: readonly K[], nowMs = Date.now()): K | undefined {
  const match = /^([0-9a-f]+)\.(\d{1,16})\.([\w-]{43})$/.exec(session);
  if (match === null) return undefined;
  const [, name = '', end = '', mac = ''] = match;
  // as for a key that is presented: of two entries for one key the later one counts
  const key = keys.findLast((one) => hexOf(one.name) === name);
  if (key === undefined || Number(end) <= nowMs) return undefined;
  return timingSafeEqual(Buffer.from(macOf(key, Number(end))), Buffer.from(mac)) ? key : undefined;
}

const hexOf = (name: string): string => Buffer.from(name).toString('hex');

const macOf = ({ name, secret }: SessionKey, end: number): string =>
  createHmac('sha256', secret).update(`turnstream session\n${name}\n${end}`).digest('base64url');

/** The session of a Cookie header. */
export function sessionIn(header: string | undefined): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2);
    if (name === SESSION_COOKIE) return value;
  }
  return undefined;
}

/** A Set-Cookie header; an empty session ends the current one. */
export function sessionCookie(session: string, secure: boolean): string {
  const age = session === '' ? 0 : SESSION_SECONDS;
  return `${SESSION_COOKIE}=${session}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${age}${secure ? '; Secure' : ''}`;
}

/** True behind a TLS proxy: then the browser never sends the cookie over plain HTTP. */
export const isSecure = (headers: Readonly<Record<string, unknown>>): boolean => headers['x-forwarded-proto'] === 'https';
