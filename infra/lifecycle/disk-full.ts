import { statfs } from 'node:fs/promises';

/** The disk, or the user's share of it, has no room left. */
const CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** True when the error, or what caused it, is a full disk. */
export function isDiskFull(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if ('code' in at && CODES.has(at.code)) return true;
  return false;
}

/** Bytes that may still be written where `path` is. */
export async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
