// Third-party programs that the end-to-end tests run if they are installed; continuous integration has them all.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const venv = join(process.cwd(), '.turnstream', 'venv', 'bin', 'python');

/** A Python with the packages of clients/requirements.txt; undefined if .ci/run has not created one here. */
export const python: string | undefined = existsSync(venv) ? venv : undefined;

export const has = (name: string): boolean => spawnSync(name, ['-V'], { stdio: 'ignore' }).error === undefined;

/** Runs a program until the lines that it has written are enough, then ends it; returns the lines, or its standard error. */
export function firstLines(
  [file = '', ...args]: readonly string[],
  options: { readonly enough: (lines: readonly string[]) => boolean; readonly env: NodeJS.ProcessEnv; readonly timeoutMs: number },
): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env: options.env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, error] = ['', ''];
    const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs);
    const full = (): string[] => out.split('\n').slice(0, -1);
    child.stdout.on('data', (part: Buffer) => {
      out += part.toString();
      if (options.enough(full())) child.kill('SIGKILL');
    });
    child.stderr.on('data', (part: Buffer) => (error += part.toString()));
    child.once('error', reject);
    child.once('close', () => {
      clearTimeout(timer);
      if (options.enough(full())) resolve(full());
      else reject(new Error(`${file} wrote ${full().length} lines: ${out.slice(-2_000)}${error}`));
    });
  });
}
