// The embedded store in its own process, for tests: `const store = await startTestStore();` … `await store.stop();`
import { spawn, type ChildProcess } from 'node:child_process';
import { cp, lstat, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startStore, storeEnvironment, type RunningStore } from '../clickhouse/store-process.ts';
import { createLogger } from '../telemetry/logger.ts';

export interface TestStore {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly dataDir: string;
  /** kill -9; the data stays. */
  kill(): Promise<void>;
  /** Sends SIGTERM; the data stays. */
  terminate(): Promise<void>;
  /** The signal that ended its process. */
  ended(): Promise<NodeJS.Signals | null>;
  /** Restarts it on the same data and the same port. */
  restart(): Promise<void>;
  /** Ends the process and removes the data. */
  stop(): Promise<void>;
}

interface StoreChild {
  readonly child: ChildProcess;
  readonly url: string;
  readonly port: number;
}

const main = fileURLToPath(new URL('./store-main.ts', import.meta.url));

interface TestStoreOptions {
  /** Default: a temporary directory, which is removed when the store is stopped. */
  readonly dataDir?: string;
  /** The directory of a stopped store, whose data is copied. */
  readonly from?: string;
  readonly sessions?: number;
  /** Default: a free one. */
  readonly port?: number;
}

export async function startTestStore(options: TestStoreOptions = {}): Promise<TestStore> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'turnstream-test-store-')));
  // symbolic links are left out: they are absolute, and the engine creates them again
  const isCopied = async (path: string): Promise<boolean> => !(await lstat(path)).isSymbolicLink();
  if (options.from !== undefined) await cp(options.from, dataDir, { recursive: true, filter: isCopied });
  let running = await launch(dataDir, options);
  return {
    get url() {
      return running.url;
    },
    get port() {
      return running.port;
    },
    get pid() {
      return running.child.pid ?? -1;
    },
    dataDir,
    kill: () => end(running.child, 'SIGKILL'),
    terminate: () => end(running.child, 'SIGTERM'),
    async ended() {
      await exitOf(running.child);
      return running.child.signalCode;
    },
    async restart() {
      await end(running.child, 'SIGTERM');
      running = await launch(dataDir, options);
    },
    async stop() {
      await end(running.child, 'SIGTERM');
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Starts a store in this process: faster, and visible to coverage. Only one at a time, and it cannot be killed. */
export async function startStoreHere(): Promise<RunningStore & { readonly dataDir: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'turnstream-test-store-'));
  const store = await startStore({
    dataDir,
    port: 0,
    sessions: 4,
    password: 'pass',
    logger: createLogger({ level: 'warn', role: 'store' }),
  });
  const stop = async (): Promise<void> => {
    await store.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { ...store, dataDir, stop };
}

async function launch(dataDir: string, options: { readonly sessions?: number; readonly port?: number }): Promise<StoreChild> {
  const sessions = options.sessions ?? 4;
  const child = spawn(process.execPath, ['--import', 'tsx', main, dataDir, String(options.port ?? 0), String(sessions)], {
    env: { ...process.env, ...storeEnvironment(sessions) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: Buffer[] = [];
  child.stderr.on('data', (part: Buffer) => said.push(part));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => {
      reject(new Error(`the test store ended with ${code ?? 'a signal'}: ${Buffer.concat(said).toString()}`));
    });
  });
  return { child, ...(JSON.parse(line) as { url: string; port: number }) };
}

function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => {
      resolve();
    });
  });
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await exitOf(child);
}
