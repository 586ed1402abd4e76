// A data directory for whole runs of the program, with the jars of this clone's own `turnstream up`.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const program = join(process.cwd(), 'infra', 'cli', 'turnstream.mjs');

export interface BenchHome {
  readonly dir: string;
  /** The environment of every program in this home. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Runs `turnstream <args>` to its end and returns its output; rejects unless it exits with 0. */
  command(...args: readonly string[]): Promise<string>;
  /** For a command that prints its report and exits with 1 when it finds faults. */
  outputOf(...args: readonly string[]): Promise<string>;
  /** The same as `command`, with additional variables. */
  commandWith(settings: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

/** `settings` are variables for every program; `at` is the directory of an earlier bench to resume, or a new one to keep. */
export async function openHome(settings: Readonly<Record<string, string>> = {}, at?: string): Promise<BenchHome> {
  const dir = at === undefined ? await mkdtemp(join(tmpdir(), 'turnstream-bench-')) : resolve(at);
  const libs = join(process.cwd(), '.turnstream', 'kafka', 'libs');
  if (existsSync(libs) && !existsSync(join(dir, 'kafka'))) {
    await mkdir(join(dir, 'kafka'), { recursive: true });
    await symlink(libs, join(dir, 'kafka', 'libs'));
  }
  const env = { ...process.env, TURNSTREAM_DATA_DIR: dir, TURNSTREAM_API_PORT: '0', ...settings };
  return {
    dir,
    env,
    command: (...args) => run(args, env),
    outputOf: (...args) => run(args, env, 1),
    commandWith: (more, ...args) => run(args, { ...env, ...more }),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

const KEPT_OF_ERRORS = 4_000;

function run(args: readonly string[], env: NodeJS.ProcessEnv, highest = 0): Promise<string> {
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const printed: Buffer[] = [];
  let errors = '';
  child.stdout.on('data', (part: Buffer) => printed.push(part));
  child.stderr.on('data', (part: Buffer) => {
    errors = (errors + part.toString()).slice(-KEPT_OF_ERRORS);
  });
  return new Promise((done, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code !== null && code <= highest) done(Buffer.concat(printed).toString());
      else reject(new Error(`turnstream ${args.join(' ')} ended with ${code ?? signal ?? 'nothing'}:\n${errors}`));
    });
  });
}
