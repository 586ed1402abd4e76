// A disk of a few megabytes that a test can fill: a tmpfs. Mounting it requires root on Linux; elsewhere `canMountDisk` is false, and tests
// that need it are skipped.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { mkdtemp, open, rm, rmdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface SmallDisk {
  readonly dir: string;
  /** Fills the remaining space. Programs that delete files free space again: call it as often as needed. */
  fill(): Promise<void>;
  /** Frees what fill() took. */
  free(): Promise<void>;
  freeBytes(): Promise<number>;
  /** Unmounts the disk and deletes its content. */
  remove(): Promise<void>;
}

const MiB = 1024 * 1024;
/** From large to small, so that not even a page remains. */
const CHUNKS = [Buffer.alloc(MiB), Buffer.alloc(4_096), Buffer.alloc(1)] as const;

const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOSPC';

/** Mounts and unmounts a tiny tmpfs as a test. */
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

/** Mounts a disk with space for `megabytes` of data. */
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
