// Stores the newest snapshot of a run's folded state as a file under the data directory, with an atomic rename.
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { SnapshotStore } from '../../../../consumers/trainer/snapshot.ts';
import { replaceFile } from '../../../lifecycle/replace-file.ts';

/** Writes `<dataDir>/snapshots/<run>.bin`. An unreadable file counts as missing. */
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
