// The newest snapshot of a run's folded state: a file under the data directory, written beside and moved into place.
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { SnapshotStore } from '../../../../consumers/trainer/snapshot.ts';
import { replaceFile } from '../../../lifecycle/replace-file.ts';

/** Keeps it as `<dataDir>/snapshots/<run>.bin`. A file that cannot be read is none. */
export function fileSnapshots(dataDir: string, run: string): SnapshotStore {
  const path = resolve(dataDir, 'snapshots', `${encodeURIComponent(run)}.bin`);
  return {
    read: () => readFile(path).catch(() => undefined),
    async write(bytes) {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, bytes);
    },
    remove: () => rm(path, { force: true }),
  };
}
