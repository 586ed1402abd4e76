// The password of the embedded store: generated at its first start and kept in a file that only its owner can read. The store and the
// programs of this data directory read the file; the password is in no environment variable and on no command line.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isLoopbackHost } from '../../lifecycle/fetch-site.ts';

const OWNER_ONLY = 0o600;

export const storePasswordPath = (dataDir: string): string => resolve(dataDir, 'store', 'password');

/** The password of this directory's store; undefined before its first start. */
export function readStorePassword(dataDir: string): string | undefined {
  const found = read(storePasswordPath(dataDir)).trim();
  return found === '' ? undefined : found;
}

/** The same, generated if there is none. A `configured` password replaces an existing one. */
export function ensureStorePassword(dataDir: string, configured = ''): string {
  const path = storePasswordPath(dataDir);
  const known = readStorePassword(dataDir);
  if (known !== undefined && (configured === '' || configured === known)) {
    chmodSync(path, OWNER_ONLY);
    return known;
  }
  const password = configured === '' ? randomBytes(24).toString('base64url') : configured;
  mkdirSync(join(path, '..'), { recursive: true });
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, `${password}\n`, { mode: OWNER_ONLY });
  renameSync(beside, path);
  return password;
}

/** The password for `url` if the store of this directory listens there: it is never sent to another server. */
export function passwordForUrl(dataDir: string, url: string): string | undefined {
  if (url === '') return undefined;
  const { host, port } = new URL(url);
  const own = read(resolve(dataDir, 'store', 'port')).trim();
  return own !== '' && own === port && isLoopbackHost(host) ? readStorePassword(dataDir) : undefined;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
