// A log, a store and their roles as separate processes, for benches of the tables.
import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Store } from '../../streams/core/ports.ts';
import { freePort } from '../app/open/local-ports.ts';
import { connectStore } from '../clickhouse/client.ts';
import { readStorePassword } from '../clickhouse/store/password.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { storeEnvironment } from '../clickhouse/store-process.ts';
import type { KafkaConnection } from '../kafka/connect.ts';
import type { BenchSite } from './local-bench.ts';
import { startRoleProcess, withoutOurs, type WatchedRole } from './role-process.ts';

const SESSIONS = 4;

export interface TablesWorld {
  readonly kafka: KafkaConnection;
  readonly store: Store;
  readonly storeProcess: WatchedRole;
  readonly namespace: string;
  /** Addresses of all services, by environment variable. */
  readonly settings: Readonly<Record<string, string>>;
  startWarehouse(): Promise<WatchedRole>;
  /** Resolves with its URL when it listens. */
  startApi(settings?: Readonly<Record<string, string>>): Promise<string>;
  /** Runs a `turnstream` command to its end; rejects with its output unless it succeeds. */
  command(...args: readonly string[]): Promise<string>;
  /** The same, as a process that `stop` ends. */
  begin(...args: readonly string[]): RunningCommand;
  /** Lag of the sink over all topics, in records. */
  lag(): Promise<number>;
}

export interface RunningCommand {
  /** Its output; rejects with it unless it succeeded or was stopped. */
  readonly ended: Promise<string>;
  stop(): Promise<string>;
}

/** Starts the broker, the store and the tables; they end with the site. */
export async function startTablesWorld(site: BenchSite, namespace: string, partitions = 8): Promise<TablesWorld> {
  const dataDir = join(site.dataDir, namespace);
  await mkdir(dataDir, { recursive: true });
  const kafka = await site.connect(namespace, { partitionsRollouts: partitions });
  const port = await freePort();
  const role = async (args: readonly string[], settings: Readonly<Record<string, string>>): Promise<WatchedRole> => {
    const started = await startRoleProcess({ args, settings, dataDir });
    site.defer(() => started.stop());
    return started;
  };
  const storeProcess = await role(['store'], {
    ...storeEnvironment(SESSIONS),
    TURNSTREAM_STORE_PORT: String(port),
    TURNSTREAM_STORE_SESSIONS: String(SESSIONS),
  });
  await storeProcess.until(({ state }) => state === 'live');
  const storeUrl = `http://127.0.0.1:${port}`;
  const store = connectStore({ url: storeUrl, database: 'turnstream', password: readStorePassword(dataDir) ?? '' });
  site.defer(() => store.close());
  await migrate(store);
  const settings = {
    ...{ KAFKA_BROKERS: site.brokers.join(','), CLICKHOUSE_URL: storeUrl, TURNSTREAM_NAMESPACE: namespace },
    TURNSTREAM_PARTITIONS_ROLLOUTS: String(partitions),
  };
  const begin = (...args: readonly string[]): RunningCommand => runCommand(args, { settings, dataDir });
  return {
    ...{ kafka, store, storeProcess, namespace, settings, begin },
    startWarehouse: () => role(['warehouse'], settings),
    async startApi(more = {}) {
      const apiPort = await freePort();
      const api = await role(['api'], { ...settings, TURNSTREAM_API_PORT: String(apiPort), ...more });
      await api.until(({ state }) => state === 'live');
      return `http://127.0.0.1:${apiPort}`;
    },
    command: (...args) => begin(...args).ended,
    async lag() {
      const group = `${namespace}.warehouse`;
      const topics = await Promise.all((['rollouts', 'tasks'] as const).map((topic) => kafka.lag(group, topic)));
      return topics.flat().reduce((sum, one) => sum + one.lag, 0);
    },
  };
}

interface TablesSite {
  readonly settings: Readonly<Record<string, string>>;
  readonly dataDir: string;
}

function runCommand(args: readonly string[], { settings, dataDir }: TablesSite): RunningCommand {
  const file = join(dataDir, `${args.join('-').replace(/[^\w-]/g, '')}.out`);
  const out = openSync(file, 'w');
  const child: ChildProcess = spawn(process.execPath, [resolve('infra/cli/turnstream.mjs'), ...args], {
    stdio: ['ignore', out, out],
    env: { ...withoutOurs(process.env), TURNSTREAM_DATA_DIR: dataDir, TURNSTREAM_LOG_LEVEL: 'warn', ...settings },
  });
  let stopped = false;
  const ended = new Promise<string>((fulfil, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      const said = readFileSync(file, 'utf8');
      if (code === 0 || stopped) fulfil(said);
      else reject(new Error(`turnstream ${args.join(' ')} ended with ${String(code)}: ${said.slice(-2_000)}`));
    });
  });
  ended.catch(() => undefined);
  return {
    ended,
    stop() {
      stopped = true;
      child.kill('SIGINT');
      return ended;
    },
  };
}
