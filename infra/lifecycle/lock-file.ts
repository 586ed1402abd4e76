// Gives a directory one owner at a time, with a file that holds the owner's pid and start mark. The lock of a dead process is taken over;
// nobody has to remove a stale file by hand.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { sameProcessAlive, startMarkOf } from './process-alive.ts';

export type LockResult =
  | { readonly taken: true; readonly release: () => void }
  | { readonly taken: false; readonly owner: { readonly pid: number; readonly purpose: string } };

interface LockOwner {
  readonly pid: number;
  readonly mark: string;
  readonly purpose: string;
}

/** Takes the lock, or returns its owner. `purpose` appears in the message of the next process that wants it. */
export function takeLock(path: string, purpose: string): LockResult {
  mkdirSync(dirname(path), { recursive: true });
  const mine: LockOwner = { pid: process.pid, mark: startMarkOf(process.pid), purpose };
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      writeFileSync(path, JSON.stringify(mine), { flag: 'wx' });
      return {
        taken: true,
        release: () => {
          releaseOwn(path);
        },
      };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
        // created, but not written: the disk is full
        rmSync(path, { force: true });
        throw error;
      }
    }
    const owner = readOwner(path);
    if (owner !== undefined && sameProcessAlive(owner.pid, owner.mark)) return { taken: false, owner };
    rmSync(path, { force: true });
  }
  return { taken: false, owner: readOwner(path) ?? { pid: 0, purpose: 'unknown' } };
}

function releaseOwn(path: string): void {
  if (readOwner(path)?.pid === process.pid) rmSync(path, { force: true });
}

function readOwner(path: string): LockOwner | undefined {
  try {
    const owner = JSON.parse(readFileSync(path, 'utf8')) as Partial<LockOwner> | null;
    if (typeof owner?.pid !== 'number' || owner.pid <= 0) return undefined;
    return { pid: owner.pid, mark: owner.mark ?? '', purpose: owner.purpose ?? '' };
  } catch {
    return undefined;
  }
}
