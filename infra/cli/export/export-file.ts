// Writes a file atomically: to a temporary name beside its path, then renames it.
import { open, rename, rm } from 'node:fs/promises';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';

/** Runs `work` with a writer for the file. On failure no partial file remains, and an existing file is left unchanged. */
export async function writeWhole<T>(path: string, work: (out: (bytes: Buffer) => Promise<void>) => Promise<T>): Promise<T> {
  const part = `${path}.part`;
  const file = await open(part, 'w').catch((cause: unknown) => {
    throw new PlatformError('USAGE_INVALID', `writing ${path}: ${messageOf(cause)}; choose another --out`, { cause });
  });
  try {
    const result = await work(async (bytes) => {
      await file.appendFile(bytes);
    });
    await file.sync();
    await file.close();
    await rename(part, path);
    return result;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(part, { force: true });
    throw error;
  }
}
