// Restarts the trainer of a revision on a log that `npm run bench restart -- --hold` keeps, and sends the seconds that it took over the IPC
// channel: `node restart-once.process.js <root of the revision> <RestartJob>`.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { renewSnapshot, restartOnce } from '../restart-once.ts';
import type { startTrainer as Start } from '../trainer-child.ts';

/** What the process is called with, as JSON. */
export interface RestartJob {
  readonly trainer: Parameters<typeof Start>[0];
  /** Whether the trainer starts with the snapshot or without it, until its first plan; or without it until it has written a new one. */
  readonly snapshot: 'with' | 'without' | 'renew';
}

const [root = '', asked = ''] = process.argv.slice(2);
const { trainer, snapshot } = JSON.parse(asked) as RestartJob;
const built = pathToFileURL(join(root, 'dist', 'infra', 'bench', 'trainer-child.js')).href;
const { startTrainer } = (await import(built)) as { readonly startTrainer: typeof Start };

const start = () => startTrainer(trainer);
const tookMs = snapshot === 'renew' ? await renewSnapshot(trainer, start) : (await restartOnce(trainer, start, snapshot === 'with')).liveMs;
process.send?.(tookMs / 1_000);
process.disconnect();
