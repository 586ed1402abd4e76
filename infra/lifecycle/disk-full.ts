import { statfs } from 'node:fs/promises';

/** The disk, or the user's quota, is full. */
const CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** True when the error, or one of its causes, is a full disk. */
export function isDiskFull(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if ('code' in at && CODES.has(at.code)) return true;
  return false;
}

/** Free bytes on the disk of `path`. */
export async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
