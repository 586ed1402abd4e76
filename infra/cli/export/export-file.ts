// A file that is there when it is whole and not before: written beside its place and moved into it.
import { open, rename, rm } from 'node:fs/promises';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';

/** Runs `work` with a writer of the file. When it fails nothing is left, and a file that was there before stays. */
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
