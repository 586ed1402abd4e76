// Runs `turnstream up` as a child process, for end-to-end tests.
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readServices, type ServicesFile } from '../app/open/services-file.ts';
import { buildProgram } from '../cli/main.ts';
import { describeError, exitCodeForCommand } from '../cli/report-error.ts';
import { stopLocalKafka } from '../kafka/broker/local.ts';
import { localPaths } from '../kafka/broker/local-files.ts';
import { ensureJars, systemToolchain } from '../kafka/broker/local-toolchain.ts';
import { sharedLibsDir } from './kafka.ts';
import { silentLogger } from './logger.ts';

export const program = join(process.cwd(), 'infra', 'cli', 'turnstream.mjs');

/** Running programs of `startUp`, by data directory. */
const running = new Map<string, Set<ChildProcess>>();

export interface TestHome {
  readonly dataDir: string;
  /** The environment of every program in this home. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends what `startUp` has started, which a failed test leaves running, and removes the data. */
  remove(): Promise<void>;
}

/** A new data directory in `parent`, with the jars that all tests share. */
export async function testHome(extra: Readonly<Record<string, string>> = {}, parent = tmpdir()): Promise<TestHome> {
  const dataDir = await mkdtemp(join(parent, 'turnstream-e2e-'));
  await ensureJars(localPaths(dataDir, sharedLibsDir), { toolchain: systemToolchain, logger: silentLogger });
  await mkdir(join(dataDir, 'kafka'), { recursive: true });
  await symlink(sharedLibsDir, join(dataDir, 'kafka', 'libs'));
  return {
    dataDir,
    env: { TURNSTREAM_DATA_DIR: dataDir, TURNSTREAM_API_PORT: '0', TURNSTREAM_EVAL_QUESTIONS: '30', ...extra },
    async remove() {
      await endPrograms(dataDir);
      await stopLocalKafka(dataDir);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Ends what `startUp` has started in a data directory. */
export async function endPrograms(dataDir: string): Promise<void> {
  for (const child of running.get(dataDir) ?? []) {
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    await closed;
  }
}

/**
 * Settings of a run that makes at most one step per `ms`: a run that only has to continue in the background leaves the machine to the
 * test, and its log stays short.
 */
export const atMostEvery = (ms: number): Readonly<Record<string, string>> => ({
  TURNSTREAM_LATENCY_MODEL: 'log-normal',
  TURNSTREAM_LATENCY_GENERATION_MS: '0',
  TURNSTREAM_LATENCY_TOOL_MS: '0',
  TURNSTREAM_LATENCY_TRAIN_MS: String(ms),
});

/** Removes what a developer's shell may have set. */
export function cleanEnv(extra: Readonly<Record<string, string>>): Record<string, string | undefined> {
  const ours = /^(TURNSTREAM_|KAFKA_BROKERS$|CLICKHOUSE_URL$|SCHEMA_REGISTRY_URL$|NODE_OPTIONS$|NODE_V8_COVERAGE$|VITEST|npm_command$)/;
  const kept = Object.entries(process.env).filter(([name]) => !ours.test(name));
  return { ...Object.fromEntries(kept), ...extra };
}

export interface UpLine {
  readonly event: string;
  readonly service?: string;
  readonly step?: number;
  readonly [field: string]: unknown;
}

export interface UpProcess {
  readonly pid: number;
  readonly lines: readonly UpLine[];
  readonly stderr: () => string;
  readonly exit: Promise<number | null>;
  /** Resolves with the first line, past or future, that matches; rejects when the program ends first. */
  until(fits: (line: UpLine) => boolean): Promise<UpLine>;
  services(): ServicesFile;
  signal(name: NodeJS.Signals): void;
}

/** Starts `up` or `serve`. */
export function startUp(home: TestHome, args: readonly string[], name: 'up' | 'serve' = 'up'): UpProcess {
  const child = spawn(process.execPath, [program, name, ...args], { env: cleanEnv(home.env), stdio: ['ignore', 'pipe', 'pipe'] });
  const programs = running.get(home.dataDir) ?? new Set();
  running.set(home.dataDir, programs.add(child));
  const lines: UpLine[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  let stderr = '';
  let ended = false;
  const wake = (): void => {
    for (const look of waiting) look();
  };
  child.stdout.on('data', (part: Buffer) => {
    const all = (rest + part.toString()).split('\n');
    rest = all.pop() ?? '';
    lines.push(...all.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as UpLine));
    wake();
  });
  child.stderr.on('data', (part: Buffer) => (stderr = (stderr + part.toString()).slice(-200_000)));
  const exit = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      ended = true;
      programs.delete(child);
      wake();
      resolve(code);
    });
  });
  return {
    pid: child.pid ?? 0,
    lines,
    stderr: () => stderr,
    exit,
    until: (fits) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.find(fits);
          if (found === undefined && !ended) return;
          waiting.delete(look);
          if (found !== undefined) resolve(found);
          else reject(new Error(`turnstream ${name} ended before what was waited for:\n${stderr.slice(-3_000)}`));
        };
        waiting.add(look);
        look();
      }),
    services() {
      const services = readServices(home.dataDir);
      if (services === undefined) throw new Error('no services file');
      return services;
    },
    signal: (name) => child.kill(name),
  };
}

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** Runs a command in this process, so that coverage sees it. */
export const command = (env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<CommandResult> =>
  commandWith({ env }, args);

/** The same for a role, which stops on a signal that `host` emits. */
export async function commandWith(
  { env, host }: { readonly env: Readonly<Record<string, string>>; readonly host?: NodeJS.EventEmitter },
  args: readonly string[],
): Promise<CommandResult> {
  let [code, out, err] = [0, '', ''];
  try {
    const context = {
      env,
      program,
      host: { events: host ?? new EventEmitter(), send: undefined, exit: () => undefined },
      out: (text: string) => void (out += text),
      err: (text: string) => void (err += text),
      bytes: async (bytes: Buffer) => void (out += bytes.toString()),
      exit: (exitCode: number) => void (code = exitCode),
    };
    await (await buildProgram(context, args)).parseAsync(args, { from: 'user' });
    return { code, out, error: err };
  } catch (error) {
    return { code: exitCodeForCommand(error), out, error: err + describeError(error, false) };
  }
}

/** Runs the real program and waits until it ends. */
export function runProgram(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program, ...args], { env: cleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, error] = ['', ''];
    child.stdout.on('data', (part: Buffer) => (out += part.toString()));
    child.stderr.on('data', (part: Buffer) => (error += part.toString()));
    child.once('close', (code) => {
      resolve({ code: code ?? -1, out, error });
    });
  });
}
