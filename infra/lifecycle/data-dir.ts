// Checks whether the data directory is usable, before anything is started. Permission bits are not the whole truth (root may write
// everywhere, yet nobody can create a folder under /proc), so the check creates a folder and removes it again.
//
// It also protects callers from `mkdir -p` where no folder can be created: under /proc, Node never returns from that call.
import { accessSync, constants, lstatSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { PlatformError } from '../../streams/core/errors.ts';
import { isDiskFull } from './disk-full.ts';

/** Throws DATA_DIR_UNUSABLE unless `dataDir` is a writable folder or can be created; DISK_FULL when there is no space. */
export function assertDataDir(dataDir: string): void {
  const path = resolve(dataDir);
  const doing = `using the data directory ${path}`;
  try {
    const folder = nearestFolder(path);
    assertMakes(folder);
    if (folder === path) assertNeeded(path);
  } catch (cause) {
    if (isDiskFull(cause)) throw new PlatformError('DISK_FULL', `${doing}: the disk is full`, { cause });
    const why = cause instanceof Unusable ? cause.message : reasonOf(cause, path);
    throw new PlatformError('DATA_DIR_UNUSABLE', `${doing}: ${why}; set TURNSTREAM_DATA_DIR to a folder that can be written`, { cause });
  }
}

class Unusable extends Error {
  override readonly name = 'Unusable';
}

/** The directory itself, or its nearest existing parent. */
function nearestFolder(path: string): string {
  let at = path;
  while (!isThere(at)) at = dirname(at);
  if (!isThere(at, statSync)) throw new Unusable(`${at} is a link to nothing`);
  if (!statSync(at).isDirectory()) throw new Unusable(`${at} is not a folder`);
  return at;
}

function assertMakes(folder: string): void {
  try {
    rmdirSync(mkdtempSync(join(folder, '.turnstream-')));
  } catch (error) {
    if (isDiskFull(error)) throw error;
    throw new Unusable(reasonOf(error, folder));
  }
}

function isThere(path: string, look: (path: string) => unknown = lstatSync): boolean {
  try {
    look(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/** Folders that turnstream requires. */
const NEEDED = ['kafka', 'store', 'weights'] as const;

/** An earlier start as another user may have created them with another owner. */
function assertNeeded(path: string): void {
  for (const folder of NEEDED.map((name) => join(path, name))) {
    try {
      accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw new Unusable(reasonOf(error, folder));
    }
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

function reasonOf(error: unknown, path: string): string {
  const code = codeOf(error);
  if (code === 'EACCES' || code === 'EPERM') return `this user may not write in ${path} (${code})`;
  if (code === 'EROFS') return `${path} is on a read-only file system`;
  return `no folder can be made in ${path} (${code === '' ? String(error) : code})`;
}
