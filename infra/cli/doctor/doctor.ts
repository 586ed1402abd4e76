// `turnstream doctor`: checks every precondition and says how to fix what is missing. It starts no service and leaves nothing behind.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { messageOf } from '../../../streams/core/errors.ts';
import type { Config } from '../../config/descriptors.ts';
import { isSet, loadConfig } from '../../config/load.ts';
import { assertJava, systemToolchain } from '../../kafka/broker/local-toolchain.ts';
import { assertDataDir } from '../../lifecycle/data-dir.ts';
import { LOW_BYTES } from '../../lifecycle/disk-forecast.ts';
import { freeBytes } from '../../lifecycle/disk-full.ts';
import { bytesText, diskText, measureDisk } from '../../lifecycle/disk-use.ts';
import { endpointOf, portAnswers, portIsFree } from '../../lifecycle/net.ts';
import { loadBackend } from '../../tfjs/backend.ts';
import { pings } from '../../app/open/local-ports.ts';
import { keptText } from '../../app/fleet/kept-text.ts';
import { readServices } from '../../app/open/services-file.ts';
import type { ProcessEnv } from '../../lifecycle/inherited-env.ts';

export interface DoctorFinding {
  readonly name: string;
  readonly verdict: 'ok' | 'warning' | 'failed';
  readonly detail: string;
}

const run = promisify(execFile);

/** A check returns what it found, or throws an error that says what to do. */
async function finding(name: string, check: () => Promise<string> | string): Promise<DoctorFinding> {
  try {
    return { name, verdict: 'ok', detail: await check() };
  } catch (error) {
    return { name, verdict: error instanceof Warning ? 'warning' : 'failed', detail: messageOf(error) };
  }
}

class Warning extends Error {
  override readonly name = 'Warning';
}

/** Checks everything that this configuration needs. */
export async function examine(env: ProcessEnv): Promise<readonly DoctorFinding[]> {
  const node = await finding('Node', () => process.versions.node);
  let config: Config;
  try {
    config = loadConfig(env);
  } catch (error) {
    return [node, { name: 'configuration', verdict: 'failed', detail: messageOf(error) }];
  }
  const known = config;
  const checks = [
    finding('data directory', () => dataDirectory(known)),
    ...(known.kafkaBrokers.length > 0 ? [finding('Kafka', () => brokersAnswer(known))] : localKafka(known)),
    ...(known.clickhouseUrl === '' ? [] : [finding('ClickHouse', () => clickhouseAnswers(known))]),
    ...(known.schemaRegistryUrl === '' ? [] : [finding('schema registry', () => registryAnswers(known))]),
    finding('log', () => logKept(known)),
    finding('API port', () => apiPort(known, isSet(env, 'apiPort'))),
    finding('tensor backend', async () => {
      const backend = await loadBackend(known.backend);
      return `${backend.name}: ${backend.device}`;
    }),
  ];
  return [node, { name: 'configuration', verdict: 'ok', detail: 'usable' }, ...(await Promise.all(checks))];
}

function localKafka(config: Config): Promise<DoctorFinding>[] {
  return [
    finding('Java', async () => {
      await assertJava(systemToolchain);
      return 'found, for the local Kafka';
    }),
    finding('Maven', () => maven(config)),
  ];
}

/** Maven is needed only once, to download the jars. */
async function maven({ dataDir }: Config): Promise<string> {
  const libs = join(resolve(dataDir), 'kafka', 'libs');
  if (existsSync(libs) && readdirSync(libs).some((file) => file.endsWith('.jar'))) return 'not needed: the jars of Kafka are there';
  try {
    const { stdout } = await run(systemToolchain.maven, ['-version'], { timeout: 20_000 });
    return stripVTControlCharacters(stdout.split('\n')[0] ?? '');
  } catch {
    throw new Error('not found; install Maven, set KAFKA_BROKERS, or use infra/docker/compose.yml');
  }
}

async function dataDirectory({ dataDir, namespace }: Config): Promise<string> {
  assertDataDir(dataDir);
  let dir = resolve(dataDir);
  while (!existsSync(dir)) dir = dirname(dir);
  const use = await measureDisk(dataDir, namespace);
  const free = use?.free_bytes ?? (await freeBytes(dir));
  const text = `${dataDir}, ${use === undefined ? `${bytesText(free)} free` : diskText(use)}`;
  if (free < LOW_BYTES) throw new Warning(`${text}; at least ${bytesText(LOW_BYTES)} are advisable`);
  return text;
}

const HOUR_MS = 3_600_000;

/** A trajectory runs, waits until it is as old as allowed, and is leased. Unless leases are extended, a version takes a lease at most. */
const neededMs = ({ maxWallMs, maxStaleness, leaseMs }: Config): number => maxWallMs + (maxStaleness + 1) * leaseMs;

function logKept(config: Config): string {
  const text = `kept: ${keptText(config)}`;
  const { trainer, retentionHours } = config;
  const needed = neededMs(config);
  if (trainer !== 'external' || retentionHours < 0 || retentionHours * HOUR_MS >= needed) return text;
  const hours = Math.ceil(needed / HOUR_MS);
  throw new Warning(`${text}; an external trainer may need rollouts of the last ${hours} h: raise TURNSTREAM_RETENTION_HOURS`);
}

async function apiPort({ apiHost, apiPort: port, dataDir }: Config, isFixed: boolean): Promise<string> {
  if (port === 0) return 'a free one is chosen';
  if (await portIsFree(apiHost, port)) return `${apiHost}:${port} is free`;
  const running = readServices(dataDir);
  if (running !== undefined) return `${apiHost}:${port} is used by turnstream (process ${running.pid})`;
  if (!isFixed) return `${apiHost}:${port} is taken by another program; \`turnstream up\` takes another port and shows it`;
  throw new Error(`${apiHost}:${port} is taken by another program; stop it or set TURNSTREAM_API_PORT`);
}

async function brokersAnswer({ kafkaBrokers }: Config): Promise<string> {
  const answers = await Promise.all(
    kafkaBrokers.map(async (broker) => {
      const { host, port } = endpointOf(broker);
      return { broker, answers: await portAnswers(host, port, 3_000) };
    }),
  );
  const silent = answers.filter((one) => !one.answers).map(({ broker }) => broker);
  if (silent.length === kafkaBrokers.length) throw new Error(`no broker answers at ${silent.join(', ')}; check KAFKA_BROKERS`);
  if (silent.length > 0) throw new Warning(`no answer from ${silent.join(', ')}`);
  return kafkaBrokers.join(', ');
}

async function clickhouseAnswers({ clickhouseUrl }: Config): Promise<string> {
  const { host, port } = endpointOf(clickhouseUrl);
  if (await pings(clickhouseUrl)) return `${host}:${port}`;
  throw new Error(`nothing answers /ping at ${host}:${port}; check CLICKHOUSE_URL`);
}

async function registryAnswers({ schemaRegistryUrl }: Config): Promise<string> {
  const { host, port } = endpointOf(schemaRegistryUrl);
  if (await portAnswers(host, port, 3_000)) return `${host}:${port}`;
  throw new Error(`nothing answers at ${host}:${port}; check SCHEMA_REGISTRY_URL`);
}
