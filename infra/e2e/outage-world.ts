// A worker, a trainer and a warehouse as separate processes, with Kafka and ClickHouse behind proxies that can be closed; their state comes
// from their health ports. For tests and benches of outages.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../streams/core/ports.ts';
import { freePort, pings } from '../app/open/local-ports.ts';
import { prepareLog, prepareStore } from '../app/open/prepare.ts';
import type { Config } from '../config/descriptors.ts';
import { readStorePassword } from '../clickhouse/store/password.ts';
import { loadConfig } from '../config/load.ts';
import { startLocalKafka } from '../kafka/broker/local.ts';
import { startChaosProxy, type ChaosProxy } from './torture/chaos-proxy.ts';

export const outageRoles = ['trainer', 'worker', 'warehouse'] as const;
export type OutageRole = (typeof outageRoles)[number];

interface ReportedState {
  readonly state: string;
  readonly detail: string;
  readonly figures: Readonly<Record<string, number>>;
}

/** A role process, queried through its health port. */
interface AskedRole {
  /** True while the first process is alive. */
  alive(): boolean;
  ready(): Promise<boolean>;
  says(): Promise<ReportedState>;
  /** The sum of all series of a metric. */
  metric(name: string): Promise<number>;
}

export interface OutageWorld {
  readonly kafka: ChaosProxy;
  readonly clickhouse: ChaosProxy;
  readonly roles: Readonly<Record<OutageRole, AskedRole>>;
  /** Addresses that bypass the proxies. */
  readonly config: Config;
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export interface OutageWorldOptions {
  readonly dir: string;
  /** infra/cli/turnstream.mjs */
  readonly program: string;
  readonly run: string;
  readonly logger: Logger;
  /** The environment of the roles, without addresses. */
  readonly base: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string>>;
  readonly libsDir?: string;
}

/** Resolves when every role has been started; they may not be live yet. */
export async function startOutageWorld(options: OutageWorldOptions): Promise<OutageWorld> {
  mkdirSync(options.dir, { recursive: true });
  const endings: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of endings.splice(0).reverse()) await end();
  };
  try {
    return await build(options, endings, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(options: OutageWorldOptions, endings: (() => Promise<unknown>)[], close: () => Promise<void>): Promise<OutageWorld> {
  const { dir, logger, libsDir } = options;
  const [listen, storePort] = [await freePort(), await freePort()];
  const kafka = await startChaosProxy({ port: 0, target: listen });
  const clickhouse = await startChaosProxy({ port: 0, target: storePort });
  endings.push(() => Promise.all([kafka.close(), clickhouse.close()]));
  const place = libsDir === undefined ? {} : { libsDir };
  const broker = await startLocalKafka({ dataDir: join(dir, 'broker'), logger, front: { listen, advertise: kafka.port }, ...place });
  endings.push(() => broker.stop());
  const direct = { KAFKA_BROKERS: broker.brokers.join(','), CLICKHOUSE_URL: `http://127.0.0.1:${storePort}` };
  const shared = { ...options.env, TURNSTREAM_DATA_DIR: join(dir, 'roles') };
  const store = launch(options, ['store'], { TURNSTREAM_STORE_PORT: String(storePort), TURNSTREAM_DATA_DIR: join(dir, 'store') });
  endings.push(() => endOf(store));
  while (!(await pings(direct.CLICKHOUSE_URL))) await sleep(50);
  const known = { TURNSTREAM_CLICKHOUSE_PASSWORD: readStorePassword(join(dir, 'store')) ?? '' };
  const env = { ...shared, ...direct, ...known };
  const config = loadConfig(env);
  await Promise.all([prepareLog(config, logger), prepareStore(config)]);
  const proxied = { KAFKA_BROKERS: `127.0.0.1:${kafka.port}`, CLICKHOUSE_URL: `http://127.0.0.1:${clickhouse.port}` };
  const begin = async (role: OutageRole, args: readonly string[]): Promise<AskedRole> => {
    const port = await freePort();
    const child = launch(options, [role, ...args], { ...shared, ...proxied, ...known, TURNSTREAM_HEALTH_PORT: String(port) });
    endings.push(() => endOf(child));
    return askedRole(child, port);
  };
  const roles = {
    trainer: await begin('trainer', ['--run', options.run, '--seed', '1', '--steps', '0']),
    worker: await begin('worker', ['--run', options.run]),
    warehouse: await begin('warehouse', []),
  };
  return { kafka, clickhouse, roles, config, env, close };
}

function launch({ dir, program, base }: OutageWorldOptions, args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  const log = openSync(join(dir, `${args[0] ?? 'turnstream'}.log`), 'a');
  return spawn(process.execPath, [program, ...args], { stdio: ['ignore', log, log], env: { ...base, ...env } });
}

const isOver = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function endOf(child: ChildProcess): Promise<void> {
  if (isOver(child)) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await exited;
}

function askedRole(child: ChildProcess, port: number): AskedRole {
  const ask = async (path: string): Promise<Response | undefined> => {
    try {
      return await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(5_000) });
    } catch {
      return undefined;
    }
  };
  return {
    alive: () => !isOver(child),
    ready: async () => (await ask('/readyz'))?.status === 200,
    async says() {
      const answer = await ask('/healthz');
      return answer === undefined ? { state: 'gone', detail: '', figures: {} } : ((await answer.json()) as ReportedState);
    },
    async metric(name) {
      const text = (await (await ask('/metrics'))?.text()) ?? '';
      const series = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
    },
  };
}

/** A condition for `until`: the figure has stayed the same for `ms`. */
export function steady(ms: number, figure: () => Promise<number | undefined>): () => Promise<boolean> {
  let last: number | undefined;
  let sinceMs = Infinity;
  return async () => {
    const now = await figure();
    if (now !== last || sinceMs === Infinity) sinceMs = Date.now();
    last = now;
    return Date.now() - sinceMs >= ms;
  };
}

/** Polls until the condition holds; rejects after `ms` with its description. */
export async function until(what: string, ms: number, look: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + ms;
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`waited ${ms} ms in vain until ${what}`);
    await sleep(100);
  }
}
