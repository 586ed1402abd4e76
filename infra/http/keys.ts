// API keys: `<key>:<scope>[+<scope>…]`. Only digests of keys are kept, and every digest is compared on every request, so that neither the
// response time nor a heap dump reveals a key.
import { createHash, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '../../streams/core/errors.ts';
import { createSession, keyOfSession } from './sessions.ts';

export type Scope = 'read' | 'write' | 'sql' | 'train' | 'record' | 'admin';

/** The sender of a request, with the scopes of the presented key. */
export interface Caller {
  /** Distinguishes callers in limits and logs without revealing the key. */
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
}

export interface KeyRing {
  /** True when no key is configured: then everything is allowed. */
  readonly open: boolean;
  /** The caller behind a presented key, or undefined when no key matches. */
  callerOf(presented: string): Caller | undefined;
  /** Creates a session (sessions.ts) for a caller from this key ring; empty for any other caller. */
  sessionOf(caller: Caller): string;
  /** The caller behind a session, or undefined when it has ended, is forged, or its key is not in this ring. */
  callerOfSession(session: string): Caller | undefined;
}

interface KeyEntry {
  readonly name: string;
  /** Digest of the key; also the secret of its sessions. */
  readonly secret: Buffer;
  readonly caller: Caller;
}

const digestOf = (key: string): Buffer => createHash('sha256').update(key).digest();

/** Entries have been checked by the configuration; one that is malformed here throws CONFIG_INVALID. */
export function createKeyRing(entries: readonly string[]): KeyRing {
  const ring = entries.map(parseEntry);
  return {
    open: ring.length === 0,
    callerOf(presented) {
      const digest = digestOf(presented);
      let found: Caller | undefined;
      for (const entry of ring) {
        if (timingSafeEqual(entry.secret, digest)) found = entry.caller;
      }
      return found;
    },
    sessionOf({ name }) {
      const entry = ring.find((one) => one.name === name);
      return entry === undefined ? '' : createSession(entry);
    },
    callerOfSession: (session) => keyOfSession(session, ring)?.caller,
  };
}

function parseEntry(entry: string): KeyEntry {
  const colon = entry.lastIndexOf(':');
  const key = entry.slice(0, Math.max(colon, 0));
  const scopes = entry.slice(colon + 1).split('+');
  if (key === '' || !scopes.every(isScope)) {
    throw new PlatformError('CONFIG_INVALID', 'reading TURNSTREAM_API_KEYS: an entry is not <key>:<scope>[+<scope>…]');
  }
  const digest = digestOf(key);
  const name = `key ${digest.toString('hex', 0, 4)}`;
  return { name, secret: digest, caller: { name, scopes: new Set(scopes) } };
}

const SCOPES: readonly string[] = ['read', 'write', 'sql', 'train', 'record', 'admin'] satisfies readonly Scope[];
const isScope = (text: string): text is Scope => SCOPES.includes(text);

/** admin includes every other scope. */
export const mayUse = (caller: Caller, scope: Scope): boolean => caller.scopes.has(scope) || caller.scopes.has('admin');

/** The key of `Authorization: Bearer <key>` or `x-api-key: <key>`. */
export function presentedKey(headers: Readonly<Record<string, string | readonly string[] | undefined>>): string | undefined {
  const { authorization, 'x-api-key': apiKey } = headers;
  if (typeof authorization === 'string') {
    const match = /^Bearer +(\S+)$/i.exec(authorization);
    if (match?.[1] !== undefined) return match[1];
  }
  return typeof apiKey === 'string' && apiKey !== '' ? apiKey : undefined;
}

/** The headers that hold a key, as they were sent. */
export function keyHeaders(headers: Readonly<Record<string, string | readonly string[] | undefined>>): Readonly<Record<string, string>> {
  const names = ['authorization', 'x-api-key'] as const;
  return Object.fromEntries(names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]] as const] : [])));
}
