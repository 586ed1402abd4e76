import { rename, writeFile } from 'node:fs/promises';

/**
 * Puts a file into its place whole: a reader sees the old one or the new one. It is written beside first, under a name
 * that a caller with rivals makes its own; what a crash leaves there the next write goes over.
 */
export async function replaceFile(path: string, content: string | Uint8Array, beside = `${path}.part`): Promise<void> {
  await writeFile(beside, content);
  await rename(beside, path);
}
