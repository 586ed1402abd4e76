// A disk of a few megabytes that a test can fill: a tmpfs of its own. Mounting one needs root on Linux; where that is
// not possible `canMountDisk` is false, and tests that need it are skipped by name.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { mkdtemp, open, rm, rmdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface SmallDisk {
  readonly dir: string;
  /** Takes all space that is left. Programs that delete files make room again: call it as often as needed. */
  fill(): Promise<void>;
  /** Gives back what fill() took. */
  free(): Promise<void>;
  freeBytes(): Promise<number>;
  /** Unmounts it, with everything on it. */
  remove(): Promise<void>;
}

const MiB = 1024 * 1024;
/** From large to small, so that not even a page is left over. */
const CHUNKS = [Buffer.alloc(MiB), Buffer.alloc(4_096), Buffer.alloc(1)] as const;

const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOSPC';

/** Mounts and unmounts a tiny tmpfs to find out. */
function tryToMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const dir = mkdtempSync(join(tmpdir(), 'turnstream-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', dir], { stdio: 'ignore' });
    execFileSync('umount', [dir], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(dir);
  }
}

/** Whether this process may mount a tmpfs. */
export const canMountDisk = tryToMount();

/** Mounts a disk with room for `megabytes` of data. */
export async function smallDisk(megabytes: number): Promise<SmallDisk> {
  const dir = await mkdtemp(join(tmpdir(), 'turnstream-disk-'));
  await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', dir]);
  const ballast = join(dir, 'ballast');
  return {
    dir,
    async fill() {
      const file = await open(ballast, 'a');
      try {
        for (const chunk of CHUNKS) await writeUntilFull(file, chunk);
      } finally {
        await file.close();
      }
    },
    free: () => rm(ballast, { force: true }),
    async freeBytes() {
      const { bavail, bsize } = await statfs(dir);
      return bavail * bsize;
    },
    async remove() {
      await run('umount', ['-l', dir]);
      await rmdir(dir);
    },
  };
}

async function writeUntilFull(file: { write(bytes: Buffer): Promise<{ readonly bytesWritten: number }> }, chunk: Buffer): Promise<void> {
  for (;;) {
    try {
      const { bytesWritten } = await file.write(chunk);
      if (bytesWritten < chunk.length) return;
    } catch (error) {
      if (isFull(error)) return;
      throw error;
    }
  }
}
