// A lock file that only one process of this machine holds at a time. It names its holder, so that the lock of a killed process can be taken
// over.
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PlatformError } from '../../../streams/core/errors.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { isAlive, ownIdentity, type ProcessIdentity } from './local-process.ts';

const TIMEOUT_MS = 300_000;
/** How long a lock file may stay empty while its holder writes its identity, ms. */
const UNNAMED_MS = 5_000;

/** Runs `work` while no other process holds the lock file. */
export async function withLock<T>(file: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  await mkdir(dirname(file), { recursive: true });
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await tryLock(file))) {
    signal?.throwIfAborted();
    if (performance.now() > deadline) {
      throw new PlatformError(
        'KAFKA_UNAVAILABLE',
        `starting the local Kafka: ${file} has been held by another process for ${TIMEOUT_MS / 1000} s`,
      );
    }
    await pause(50);
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function tryLock(file: string): Promise<boolean> {
  try {
    await writeFile(file, JSON.stringify(await ownIdentity()), { flag: 'wx' });
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      // created, but not written: the disk is full
      await rm(file, { force: true });
      throw error;
    }
  }
  const text = await readFile(file, 'utf8').catch(() => '');
  if ((await isStale(file, text)) && (await readFile(file, 'utf8').catch(() => '')) === text) await rm(file, { force: true });
  return false;
}

/** True when the holder is gone. A file that names no holder is either being written, or its writer was killed before it was done. */
async function isStale(file: string, text: string): Promise<boolean> {
  const holder = parseIdentity(text);
  if (holder !== undefined) return !(await isAlive(holder));
  const found = await stat(file).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > UNNAMED_MS;
}

function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('pid' in value) || !('startedAt' in value)) return undefined;
    return typeof value.pid === 'number' && typeof value.startedAt === 'string'
      ? { pid: value.pid, startedAt: value.startedAt }
      : undefined;
  } catch {
    return undefined;
  }
}
