// Restarts the trainer of a revision on a log that `npm run bench restart -- --hold` keeps, and sends the seconds until its first plan over
// the IPC channel: `node restart-once.process.js <root of the revision> <RestartJob>`. The snapshot is afterwards what it was before.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { startTrainer as Start } from '../trainer-child.ts';

/** What the process is called with, as JSON. */
export interface RestartJob {
  readonly trainer: Parameters<typeof Start>[0];
  readonly snapshot: boolean;
}

const LIMIT_MS = 300_000;

const [root = '', asked = ''] = process.argv.slice(2);
const { trainer, snapshot } = JSON.parse(asked) as RestartJob;
const built = pathToFileURL(join(root, 'dist', 'infra', 'bench', 'trainer-child.js')).href;
const { startTrainer } = (await import(built)) as { readonly startTrainer: typeof Start };

const file = join(trainer.dataDir, 'snapshots', `${trainer.run}.bin`);
const kept = await readFile(file);
if (!snapshot) await rm(file);
try {
  const started = await startTrainer(trainer);
  const liveMs = await started.until('the first plan', ({ state }) => state === 'live', LIMIT_MS);
  process.kill(started.pid, 'SIGKILL');
  process.send?.(liveMs / 1_000);
} finally {
  await writeFile(file, kept);
}
process.disconnect();
