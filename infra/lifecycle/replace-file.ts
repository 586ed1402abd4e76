import { rename, writeFile } from 'node:fs/promises';

/**
 * Replaces a file atomically: a reader sees the old content or the new one. It is written to a temporary name first, which callers with
 * concurrent writers must make unique; the next write overwrites what a crash leaves there.
 */
export async function replaceFile(path: string, content: string | Uint8Array, beside = `${path}.part`): Promise<void> {
  await writeFile(beside, content);
  await rename(beside, path);
}
