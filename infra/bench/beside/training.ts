// A `turnstream up` of one revision, for benches that send requests to a run while it trains.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../app/open/local-ports.ts';
import { pause } from '../../lifecycle/waiting.ts';

const STEPS_BEFORE = 20;

/** Starts a run in `dir` with the code in `tree`, waits for its first steps, and stops it after `use`. */
export async function duringTraining<T>(tree: string, dir: string, use: (url: string) => Promise<T>): Promise<T> {
  await mkdir(join(dir, 'kafka'), { recursive: true });
  const libs = join(tree, '.turnstream', 'kafka', 'libs');
  if (existsSync(libs)) await symlink(libs, join(dir, 'kafka', 'libs'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const own = { TURNSTREAM_DATA_DIR: dir, TURNSTREAM_API_PORT: String(port), TURNSTREAM_API_REQUESTS_PER_SECOND: '0' };
  const args = ['infra/cli/turnstream.mjs', 'up', '--run', 'beside', '--seed', '1', '--no-eval'];
  const child = spawn(process.execPath, args, { cwd: tree, env: { ...process.env, ...own }, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    while ((await stepsOf(url)) < STEPS_BEFORE) {
      if (child.exitCode !== null) throw new Error(`the run of ${tree} ended with ${child.exitCode} before its first steps`);
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
