// One restart of a trainer, with the snapshot that the previous one left, or without it.
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import { pause } from '../lifecycle/waiting.ts';
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
const POLL_MS = 50;

type TrainedRun = Pick<TrainerChildOptions, 'dataDir' | 'run'>;

const snapshotOf = ({ dataDir, run }: TrainedRun): string => join(dataDir, 'snapshots', `${run}.bin`);

const untilLive = (trainer: WatchedTrainer): Promise<number> => trainer.until('the first plan', ({ state }) => state === 'live', LIMIT_MS);

/** Restarts a trainer without a snapshot, and kills it once it has written one, which lacks nothing of the log. Returns how long it took, ms. */
export async function renewSnapshot(run: TrainedRun, start: () => Promise<WatchedTrainer>): Promise<number> {
  const beganMs = performance.now();
  await rm(snapshotOf(run), { force: true });
  const trainer = await start();
  try {
    await untilLive(trainer);
    while (!existsSync(snapshotOf(run))) {
      if (performance.now() > beganMs + LIMIT_MS)
        throw new Error(`the trainer has not written ${snapshotOf(run)} in ${LIMIT_MS / 1_000} s`);
      await pause(POLL_MS);
    }
    return performance.now() - beganMs;
  } finally {
    process.kill(trainer.pid, 'SIGKILL');
  }
}

/** Starts a trainer, waits for its first plan, and kills it. The snapshot is afterwards what it was before. */
export async function restartOnce(run: TrainedRun, start: () => Promise<WatchedTrainer>, snapshot: boolean): Promise<Restart> {
  const file = snapshotOf(run);
  const kept = await readFile(file).catch(() => undefined);
  if (!snapshot) await rm(file, { force: true });
  try {
    const trainer = await start();
    const liveMs = await untilLive(trainer);
    const restart = { snapshot, liveMs, use: trainer.use(), status: trainer.newest() };
    process.kill(trainer.pid, 'SIGKILL');
    return restart;
  } finally {
    if (kept !== undefined) await writeFile(file, kept);
  }
}
