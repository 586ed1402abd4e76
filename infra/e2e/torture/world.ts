// The processes of a torture test: brokers and a store behind proxies, and a real `turnstream up` that connects through the proxies. Killed
// processes are restarted by their supervisors: `up` for the roles, brokers.ts and this file for the brokers and the store.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Logger } from '../../../streams/core/ports.ts';
import { readServices, type ServicesFile } from '../../app/open/services-file.ts';
import { freePort, pings } from '../../app/open/local-ports.ts';
import { waitUntilDrained } from '../../app/open/drain.ts';
import { loadConfig } from '../../config/load.ts';
import { smallDisk, type SmallDisk } from '../../testing/small-disk.ts';
import { startBrokers, type Brokers } from './brokers.ts';
import { startChaosProxy, type ChaosProxy } from './chaos-proxy.ts';
import { keepTrainer } from './trainer-process.ts';
import type { FaultOf, FaultTarget } from './schedule.ts';

export interface WorldOptions {
  readonly dir: string;
  readonly program: string;
  readonly libsDir: string;
  readonly run: string;
  readonly seed: number;
  readonly workers: number;
  readonly brokers: number;
  /** Whether the store and `up` have small disks of their own. */
  readonly disks: boolean;
  /** Whether the trainer is an external one. */
  readonly external: boolean;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string>>;
}

/** The address and the credentials of ClickHouse. */
interface StoreAccess {
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

export interface TortureWorld {
  readonly run: string;
  /** The folder of logs and data. */
  readonly dir: string;
  readonly brokers: Brokers;
  /** Direct address, without the proxy. */
  readonly store: StoreAccess;
  readonly clickhouse: ChaosProxy;
  services(): ServicesFile | undefined;
  /** Current processes of a target; empty while it is restarting. */
  pidsOf(target: Exclude<FaultTarget, 'broker'>): readonly number[];
  /** The disk that a target writes to. */
  diskOf(target: FaultOf<'disk'>['target']): SmallDisk | undefined;
  /** Shifts the wall clock of a role forward, or backward when negative. */
  shiftClock(target: FaultOf<'clock'>['target'], byMs: number): void;
  /** Runs a command of the program without the proxies; resolves with its exit code and its output. */
  command(...args: readonly string[]): Promise<{ readonly code: number | null; readonly said: string }>;
  /** After `up` has ended: runs a sink without the proxies until the tables have the whole log. False when the signal aborts first. */
  drain(signal: AbortSignal): Promise<boolean>;
  /** Exit code or signal of `up` once it has ended; it must not end before `stopUp`. */
  readonly ended: () => number | string | undefined;
  /** Stops `up` gracefully and waits for it. */
  stopUp(): Promise<number | null>;
  /** `keep`: copies the data of the store to the folder of the logs. */
  close(keep?: boolean): Promise<void>;
}

/** Topics whose leaders are attacked: ours and Kafka's internal ones for transactions and groups. */
const struckTopics = [
  'turnstream.training',
  'turnstream.rollouts',
  'turnstream.tasks',
  'turnstream.policies',
  '__transaction_state',
  '__consumer_offsets',
];

const PASSWORD = 'torture';
/** Sizes of the in-memory disks: enough for half an hour of data, plus space to fill. */
const DISK_MB = { store: 4_096, trainer: 256 } as const;
type Disks = Partial<Readonly<Record<FaultOf<'disk'>['target'], SmallDisk>>>;

export async function startWorld(options: WorldOptions): Promise<TortureWorld> {
  mkdirSync(join(options.dir, 'clocks'), { recursive: true });
  const disks: Disks = options.disks ? { store: await smallDisk(DISK_MB.store), trainer: await smallDisk(DISK_MB.trainer) } : {};
  const storePort = await freePort();
  const clickhouse = await startChaosProxy({ port: 0, target: storePort });
  const { dir, libsDir, logger } = options;
  const brokers = await startBrokers({ dir, libsDir, logger, count: options.brokers, topics: struckTopics });
  const store: StoreAccess = { url: `http://127.0.0.1:${storePort}`, user: 'default', password: PASSWORD };
  const kept = keepStore(options, { port: storePort, dataDir: disks.store?.dir ?? join(dir, 'store') });
  while (!(await pings(store.url))) await new Promise((wake) => setTimeout(wake, 100));
  const upDir = disks.trainer?.dir ?? join(dir, 'up');
  const addresses = { KAFKA_BROKERS: brokers.proxied.join(','), CLICKHOUSE_URL: `http://127.0.0.1:${clickhouse.port}` };
  const up = startUp(options, { ...addresses, TURNSTREAM_DATA_DIR: upDir });
  const services = (): ServicesFile | undefined => readServices(upDir);
  const trainer = options.external ? keepTrainer({ run: options.run, dir, upDir, brokers: () => brokers.addresses() }) : undefined;
  const past = () => ({ KAFKA_BROKERS: brokers.addresses().join(','), CLICKHOUSE_URL: store.url });
  return {
    ...{ run: options.run, dir, brokers, clickhouse, store, services },
    pidsOf: (target) => pidsOf(target, { store: kept.pid(), 'external-trainer': trainer?.pid() }, services()),
    diskOf: (target) => disks[target],
    shiftClock: (target, byMs) => {
      writeFileSync(join(dir, 'clocks', target), String(byMs));
    },
    command: (...args) => said(launch({ ...options, to: 'pipe' }, args, past())),
    ended: () => up.exitCode ?? up.signalCode ?? undefined,
    async stopUp() {
      await trainer?.stop();
      up.kill('SIGINT');
      return exitOf(up);
    },
    drain: (signal) => drain(options, past(), signal),
    async close(keep = false) {
      up.kill('SIGKILL');
      await Promise.all([exitOf(up), trainer?.stop(), kept.stop(), brokers.stop(), clickhouse.close()]);
      if (keep && disks.store !== undefined) await cp(disks.store.dir, join(dir, 'store'), { recursive: true });
      await Promise.all(Object.values(disks).map((disk) => disk.remove()));
    },
  };
}

/** Processes that `up` does not start. */
type KeptPids = Readonly<Record<'store' | 'external-trainer', number | undefined>>;

function pidsOf(target: Exclude<FaultTarget, 'broker'>, kept: KeptPids, services: ServicesFile | undefined): readonly number[] {
  if (target === 'store' || target === 'external-trainer') return [kept[target] ?? []].flat();
  const named = Object.entries(services?.processes ?? {});
  return named.filter(([name]) => (target === 'worker' ? name.startsWith('worker-') : name === target)).map(([, pid]) => pid);
}

async function drain(options: WorldOptions, addresses: ServiceEnv, signal: AbortSignal): Promise<boolean> {
  const sink = launch(options, ['warehouse'], addresses);
  // brokers and the store may still be recovering from the last fault
  const config = loadConfig({ ...access, ...addresses });
  const drained = () => waitUntilDrained(config, options.logger, signal).catch(() => false);
  let done = false;
  while (!done && !signal.aborted) done = await drained();
  sink.kill('SIGTERM');
  await exitOf(sink);
  return done;
}

const exitOf = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => {
        child.once('exit', resolve);
      });

async function said(child: ChildProcess): Promise<{ readonly code: number | null; readonly said: string }> {
  const parts: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part: Buffer) => parts.push(part));
  const code = await exitOf(child);
  return { code, said: Buffer.concat(parts).toString() };
}

function keepStore(options: WorldOptions, { port, dataDir }: { readonly port: number; readonly dataDir: string }) {
  let closing = false;
  const start = (): ChildProcess => {
    const child = launch(options, ['store'], { TURNSTREAM_STORE_PORT: String(port), TURNSTREAM_DATA_DIR: dataDir });
    child.once('exit', () => {
      // a store that cannot start, e.g. on a full disk, is retried at the pace of a supervisor
      if (!closing) setTimeout(() => (current = closing ? current : start()), RESTART_MS);
    });
    return child;
  };
  let current = start();
  return {
    pid: () => (current.exitCode === null && current.signalCode === null ? current.pid : undefined),
    async stop() {
      closing = true;
      current.kill('SIGTERM');
      await exitOf(current);
    },
  };
}

const RESTART_MS = 500;

function startUp(options: WorldOptions, env: ServiceEnv): ChildProcess {
  const args = ['up', '--run', options.run, '--seed', String(options.seed), '--workers', String(options.workers), '--no-eval'];
  return launch(options, args, { ...env, TURNSTREAM_API_PORT: '0', TURNSTREAM_REPLICATION: String(options.brokers) });
}

type ServiceEnv = Readonly<Record<string, string>>;

/** Credentials of the store, for every process and command of a torture test. */
const access: ServiceEnv = { TURNSTREAM_CLICKHOUSE_PASSWORD: PASSWORD };
const clock = pathToFileURL(join(import.meta.dirname, 'clock.mjs')).href;

/** Runs the program with these arguments; its output goes to a file named after the command or, with `pipe`, to the caller. */
function launch(options: WorldOptions & { readonly to?: 'pipe' }, args: readonly string[], env: ServiceEnv): ChildProcess {
  const out = options.to ?? openSync(join(options.dir, `${args[0] ?? 'turnstream'}.log`), 'a');
  const clocks = { NODE_OPTIONS: `--import=${clock}?clocks=${encodeURIComponent(join(options.dir, 'clocks'))}` };
  return spawn(process.execPath, [options.program, ...args], {
    stdio: ['ignore', out, out],
    env: { ...process.env, ...clocks, ...access, ...options.env, ...env },
  });
}
