// A cache of texts on disk, shared by the workers of a machine. Files are written atomically by rename, so that a reader sees a whole entry
// or none; an unreadable entry counts as missing. Entries older than the TTL are not returned, and when the folder exceeds its size, the
// entries written longest ago are removed first. A crash can leave temporary files, which later sweeps remove like old entries.
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../lifecycle/replace-file.ts';

export interface DiskCache {
  get(key: string): Promise<string | undefined>;
  /** Never rejects: a failed write only means a cache miss later. */
  set(key: string, value: string): Promise<void>;
  readonly counts: { readonly hits: number; readonly misses: number };
}

export interface DiskCacheOptions {
  readonly folder: string;
  readonly maxBytes: number;
  /** 0: nothing is stored. */
  readonly ttlMs: number;
  readonly now: () => number;
}

interface DiskCacheEntry {
  readonly key: string;
  readonly at: number;
  readonly value: string;
}

/** Share of `maxBytes` that is written between two sweeps: a sweep examines every file, so sweeps are rare. */
const SWEEP_SHARE = 0.1;

class FolderCache implements DiskCache {
  readonly counts = { hits: 0, misses: 0 };
  readonly #options: DiskCacheOptions;
  #sinceSweep: number;
  #sweeping: Promise<void> | undefined;

  constructor(options: DiskCacheOptions) {
    this.#options = options;
    // the first write sweeps what earlier processes left behind
    this.#sinceSweep = options.maxBytes;
  }

  async get(key: string): Promise<string | undefined> {
    const entry = await this.#read(key);
    const fresh = entry?.key === key && this.#options.now() - entry.at < this.#options.ttlMs;
    this.counts[fresh ? 'hits' : 'misses'] += 1;
    return fresh ? entry.value : undefined;
  }

  async set(key: string, value: string): Promise<void> {
    if (this.#options.ttlMs === 0) return;
    const text = JSON.stringify({ key, at: this.#options.now(), value } satisfies DiskCacheEntry);
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#options.maxBytes) return;
    const path = this.#pathOf(key);
    const beside = `${path}.${randomBytes(6).toString('hex')}.part`;
    try {
      await mkdir(this.#options.folder, { recursive: true });
      await replaceFile(path, text, beside);
    } catch {
      await rm(beside, { force: true }).catch(() => undefined);
      return;
    }
    this.#sinceSweep += bytes;
    if (this.#sinceSweep > this.#options.maxBytes * SWEEP_SHARE) await this.#sweep();
  }

  #pathOf(key: string): string {
    return join(this.#options.folder, `${createHash('sha256').update(key).digest('hex')}.json`);
  }

  async #read(key: string): Promise<DiskCacheEntry | undefined> {
    try {
      const entry = JSON.parse(await readFile(this.#pathOf(key), 'utf8')) as Partial<DiskCacheEntry>;
      const { key: of, at, value } = entry;
      return typeof of === 'string' && typeof at === 'number' && typeof value === 'string' ? { key: of, at, value } : undefined;
    } catch {
      return undefined;
    }
  }

  #sweep(): Promise<void> {
    this.#sweeping ??= this.#removeOldest()
      .catch(() => undefined)
      .finally(() => {
        this.#sweeping = undefined;
        this.#sinceSweep = 0;
      });
    return this.#sweeping;
  }

  async #removeOldest(): Promise<void> {
    const { folder, maxBytes } = this.#options;
    const names = await readdir(folder);
    const files = await Promise.all(
      names.map(async (name) => {
        const path = join(folder, name);
        const found = await stat(path).catch(() => undefined);
        return { path, bytes: found?.size ?? 0, at: found?.mtimeMs ?? 0 };
      }),
    );
    files.sort((a, b) => b.at - a.at);
    let kept = 0;
    for (const { path, bytes } of files) {
      kept += bytes;
      if (kept > maxBytes) await rm(path, { force: true });
    }
  }
}

/** A cache in a folder, which is created with the first entry. */
export const createDiskCache = (options: DiskCacheOptions): DiskCache => new FolderCache(options);
