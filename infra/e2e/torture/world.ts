// The processes of a torture: brokers and a store of its own behind proxies, and a real `turnstream up` that is pointed
// at the proxies. What is killed is started again by its supervisor: `up` for the roles, brokers.ts and this file for
// the brokers and the store.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../../streams/core/ports.ts';
import { readServices, type ServicesFile } from '../../app/services-file.ts';
import { freePort, pings } from '../../app/local-ports.ts';
import { waitUntilDrained } from '../../app/drain.ts';
import { loadConfig } from '../../config/load.ts';
import { readStorePassword } from '../../clickhouse/store/password.ts';
import { startBrokers, type Brokers } from './brokers.ts';
import { startChaosProxy, type ChaosProxy } from './chaos-proxy.ts';
import type { Target } from './schedule.ts';

export interface WorldOptions {
  readonly dir: string;
  readonly program: string;
  readonly libsDir: string;
  readonly run: string;
  readonly seed: number;
  readonly workers: number;
  readonly brokers: number;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string>>;
}

export interface World {
  readonly brokers: Brokers;
  /** Past the proxy. */
  readonly clickhouseUrl: string;
  readonly clickhousePassword: string;
  readonly clickhouse: ChaosProxy;
  services(): ServicesFile | undefined;
  /** Process of a target now; undefined while it is being started again. */
  pidOf(target: Exclude<Target, 'broker'>): number | undefined;
  /** Once `up` has ended: runs a sink, past the proxies, until the tables have the whole log. */
  drain(signal: AbortSignal): Promise<void>;
  /** Code of `up` when it ended by itself, which it must not. */
  readonly ended: () => number | string | undefined;
  /** Ends `up` in its own way and waits for it. */
  stopUp(): Promise<number | null>;
  close(): Promise<void>;
}

/** Topics whose leaders are struck: ours and those of Kafka for transactions and groups. */
const struckTopics = [
  'turnstream.training',
  'turnstream.rollouts',
  'turnstream.tasks',
  'turnstream.policies',
  '__transaction_state',
  '__consumer_offsets',
];

export async function startWorld(options: WorldOptions): Promise<World> {
  mkdirSync(options.dir, { recursive: true });
  const storePort = await freePort();
  const clickhouse = await startChaosProxy({ port: 0, target: storePort });
  const { dir, libsDir, logger } = options;
  const brokers = await startBrokers({ dir, libsDir, logger, count: options.brokers, topics: struckTopics });
  const store = keepStore(options, storePort);
  while (!(await pings(`http://127.0.0.1:${storePort}`))) await new Promise((wake) => setTimeout(wake, 100));
  const clickhousePassword = readStorePassword(join(options.dir, 'store')) ?? '';
  const known = { TURNSTREAM_CLICKHOUSE_PASSWORD: clickhousePassword };
  const up = startUp(options, {
    ...known,
    KAFKA_BROKERS: brokers.proxied.join(','),
    CLICKHOUSE_URL: `http://127.0.0.1:${clickhouse.port}`,
  });
  const services = (): ServicesFile | undefined => readServices(join(options.dir, 'up'));
  const clickhouseUrl = `http://127.0.0.1:${storePort}`;
  return {
    ...{ brokers, clickhouse, clickhouseUrl, clickhousePassword, services },
    pidOf: (target) => (target === 'store' ? store.pid() : services()?.processes[target === 'worker' ? 'worker-1' : target]),
    ended: () => up.exitCode ?? up.signalCode ?? undefined,
    async stopUp() {
      up.kill('SIGINT');
      return exitOf(up);
    },
    async drain(signal) {
      const addresses = { ...known, KAFKA_BROKERS: brokers.addresses().join(','), CLICKHOUSE_URL: clickhouseUrl };
      const sink = launch(options, ['warehouse'], addresses);
      // brokers and the store may still be on their way back from the last fault
      const drained = () => waitUntilDrained(loadConfig(addresses), options.logger, signal).catch(() => false);
      while (!(await drained())) signal.throwIfAborted();
      sink.kill('SIGTERM');
      await exitOf(sink);
    },
    async close() {
      up.kill('SIGKILL');
      await Promise.all([exitOf(up), store.stop(), brokers.stop(), clickhouse.close()]);
    },
  };
}

const exitOf = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => {
        child.once('exit', resolve);
      });

function keepStore(options: WorldOptions, port: number) {
  let closing = false;
  const start = (): ChildProcess => {
    const child = launch(options, ['store'], {
      TURNSTREAM_STORE_PORT: String(port),
      TURNSTREAM_DATA_DIR: join(options.dir, 'store'),
    });
    child.once('exit', () => {
      if (!closing) current = start();
    });
    return child;
  };
  let current = start();
  return {
    pid: () => current.pid,
    async stop() {
      closing = true;
      current.kill('SIGTERM');
      await exitOf(current);
    },
  };
}

function startUp(options: WorldOptions, addresses: Readonly<Record<string, string>>): ChildProcess {
  const args = ['up', '--run', options.run, '--seed', String(options.seed), '--workers', String(options.workers), '--no-eval'];
  return launch(options, args, {
    ...addresses,
    TURNSTREAM_DATA_DIR: join(options.dir, 'up'),
    TURNSTREAM_API_PORT: '0',
    TURNSTREAM_REPLICATION: String(options.brokers),
  });
}

/** The program with these arguments; its logs go into a file named after the command. */
function launch(options: WorldOptions, args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  const log = openSync(join(options.dir, `${args[0] ?? 'turnstream'}.log`), 'a');
  return spawn(process.execPath, [options.program, ...args], {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...options.env, ...env },
  });
}
