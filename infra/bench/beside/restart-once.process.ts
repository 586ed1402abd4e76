// Restarts the trainer of a revision on a log that `npm run bench restart -- --hold` keeps, and sends the seconds until its first plan over
// the IPC channel: `node restart-once.process.js <root of the revision> <RestartJob>`.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { restartOnce } from '../restart-once.ts';
import type { startTrainer as Start } from '../trainer-child.ts';

/** What the process is called with, as JSON. */
export interface RestartJob {
  readonly trainer: Parameters<typeof Start>[0];
  readonly snapshot: boolean;
}

const [root = '', asked = ''] = process.argv.slice(2);
const { trainer, snapshot } = JSON.parse(asked) as RestartJob;
const built = pathToFileURL(join(root, 'dist', 'infra', 'bench', 'trainer-child.js')).href;
const { startTrainer } = (await import(built)) as { readonly startTrainer: typeof Start };

const { liveMs } = await restartOnce(trainer, () => startTrainer(trainer), snapshot);
process.send?.(liveMs / 1_000);
process.disconnect();
