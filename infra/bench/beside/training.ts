// A `turnstream up` of one revision, for benches that send requests to a run while it trains.
import { spawn } from 'node:child_process';
import { freePort } from '../../app/open/local-ports.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { openHome } from '../home.ts';

const STEPS_BEFORE = 20;

/** Starts a run in `dir` with the code in `tree`, waits for its first steps, and stops it after `use`. */
export async function duringTraining<T>(tree: string, dir: string, use: (url: string) => Promise<T>): Promise<T> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { env } = await openHome({ TURNSTREAM_API_PORT: String(port), TURNSTREAM_API_REQUESTS_PER_SECOND: '0' }, dir);
  const args = ['infra/cli/turnstream.mjs', 'up', '--run', 'beside', '--seed', '1', '--no-eval'];
  const child = spawn(process.execPath, args, { cwd: tree, env, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    while ((await stepsOf(url)) < STEPS_BEFORE) {
      const end = child.exitCode ?? child.signalCode;
      if (end !== null) throw new Error(`the run of ${tree} ended with ${end} before its first steps`);
      await pause(1_000);
    }
    return await use(url);
  } finally {
    child.kill('SIGINT');
    await ended;
  }
}

/** Steps of the run; 0 while the API does not answer. */
async function stepsOf(url: string): Promise<number> {
  try {
    const answer = await fetch(`${url}/v1/runs/beside`);
    return answer.ok ? ((await answer.json()) as { readonly steps: number }).steps : 0;
  } catch {
    return 0;
  }
}
