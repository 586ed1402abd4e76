// One restart of a trainer, with the snapshot that the previous one left, or without it.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import type { ProcessUse, TrainerChildOptions, WatchedTrainer } from './trainer-child.ts';

export interface Restart {
  /** The snapshot of the previous trainer was present. */
  readonly snapshot: boolean;
  /** From the start of the process to its report after the first plan. */
  readonly liveMs: number;
  readonly use: ProcessUse;
  readonly status: RoleStatus | undefined;
}

const LIMIT_MS = 300_000;

/** Starts a trainer, waits for its first plan, and kills it. The snapshot is afterwards what it was before. */
export async function restartOnce(
  { dataDir, run }: Pick<TrainerChildOptions, 'dataDir' | 'run'>,
  start: () => Promise<WatchedTrainer>,
  snapshot: boolean,
): Promise<Restart> {
  const file = join(dataDir, 'snapshots', `${run}.bin`);
  const kept = await readFile(file).catch(() => undefined);
  if (!snapshot) await rm(file, { force: true });
  try {
    const trainer = await start();
    const liveMs = await trainer.until('the first plan', ({ state }) => state === 'live', LIMIT_MS);
    const restart = { snapshot, liveMs, use: trainer.use(), status: trainer.newest() };
    process.kill(trainer.pid, 'SIGKILL');
    return restart;
  } finally {
    if (kept !== undefined) await writeFile(file, kept);
  }
}
