// Disk usage of the data directory, by part. Sizes are allocated blocks: the apparent size of Kafka's indexes is much larger.
import type { Dirent } from 'node:fs';
import { lstat, readdir, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';

interface DiskPart {
  /** log.<topic>, log.other, kafka (the program), tables or other. */
  readonly part: string;
  readonly bytes: number;
}

export interface DiskUse {
  /** Size of the data directory. */
  readonly bytes: number;
  /** Free space on its disk, and the size of the disk. */
  readonly free_bytes: number;
  readonly disk_bytes: number;
  /** Largest first. */
  readonly parts: readonly DiskPart[];
}

/** Undefined when there is no such directory. Files that disappear meanwhile are left out. */
export async function measureDisk(dataDir: string, namespace: string): Promise<DiskUse | undefined> {
  const root = resolve(dataDir);
  try {
    const { bavail, bsize, blocks } = await statfs(root);
    const parts = new Map<string, number>();
    await addFiles(root, [], (path, bytes) => {
      const part = partOf(path, namespace);
      parts.set(part, (parts.get(part) ?? 0) + bytes);
    });
    const sorted = [...parts].map(([part, bytes]) => ({ part, bytes })).sort((a, b) => b.bytes - a.bytes);
    const bytes = sorted.reduce((sum, one) => sum + one.bytes, 0);
    return { bytes, free_bytes: bavail * bsize, disk_bytes: blocks * bsize, parts: sorted };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

const BLOCK_BYTES = 512;

async function addFiles(folder: string, path: readonly string[], add: (path: readonly string[], bytes: number) => void): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(noneWhenGone<Dirent[]>([]));
  for (const entry of entries) {
    const own = join(folder, entry.name);
    if (entry.isDirectory()) await addFiles(own, [...path, entry.name], add);
    else if (entry.isFile()) {
      const found = await lstat(own).catch(noneWhenGone(undefined));
      if (found !== undefined) add([...path, entry.name], found.blocks * BLOCK_BYTES);
    }
  }
}

const isGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');

const noneWhenGone =
  <T>(none: T) =>
  (error: unknown): T => {
    if (isGone(error)) return none;
    throw error;
  };

function partOf([first, second, folder = '']: readonly string[], namespace: string): string {
  if (first === 'store') return 'tables';
  if (first !== 'kafka') return 'other';
  if (second !== 'data') return 'kafka';
  const topic = /^(.+)-\d+$/.exec(folder)?.[1] ?? '';
  return topic.startsWith(`${namespace}.`) ? `log.${topic.slice(namespace.length + 1)}` : 'log.other';
}

/** Formats a number of bytes. */
export function bytesText(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  return bytes >= 1e6 ? `${Math.round(bytes / 1e6)} MB` : `${Math.round(bytes / 1e3)} kB`;
}

/** One line: the parts, largest first, and the free space. */
export function diskText({ bytes, free_bytes: free, parts }: DiskUse): string {
  const log = parts.filter(({ part }) => part.startsWith('log.'));
  const topics = log.slice(0, 3).map((one) => `${one.part.slice('log.'.length)} ${bytesText(one.bytes)}`);
  const logBytes = log.reduce((sum, one) => sum + one.bytes, 0);
  const others = parts.filter(({ part }) => !part.startsWith('log.')).map((one) => `${one.part} ${bytesText(one.bytes)}`);
  const logText = log.length === 0 ? [] : [`log ${bytesText(logBytes)} (${topics.join(', ')}${log.length > 3 ? ', …' : ''})`];
  const all = [...logText, ...others].join(', ');
  return `${bytesText(bytes)}${all === '' ? '' : `: ${all}`}; ${bytesText(free)} free`;
}
