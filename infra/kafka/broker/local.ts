// Runs Apache Kafka on this machine without Docker: a KRaft node with its data under `<dataDir>/kafka`, on 127.0.0.1 only. It forms a
// cluster of its own, or is one of several nodes (local-cluster.ts).
//
// - Its ports are chosen once and kept; a port that another program takes meanwhile is replaced.
// - It runs in its own process group: Ctrl-C in a terminal reaches the caller, which stops the broker last.
// - It keeps running when its caller is killed; the next start with the same data directory takes it over. Its process id and start time
// are recorded and checked before any signal is sent.
// - While its owner lives, other processes may use it, but only the owner's stop() ends it.
// - It can be killed at any moment and restarts on the same data. Transactions whose end it lost are ended then.
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { finishTransactions } from '../transactions/finish.ts';
import { keepInternalTopicsSmall, setupClient } from './internal-topics.ts';
import { localPaths, log4jText, propertiesText, type LocalPaths, type LocalPorts, type NodeExtras } from './local-files.ts';
import { withLock } from './local-lock.ts';
import { choosePorts } from './local-ports.ts';
import {
  describeProcess,
  endProcess,
  isAlive,
  ownIdentity,
  signalProcess,
  spawnDetached,
  waitForExit,
  type ProcessIdentity,
} from './local-process.ts';
import { findBroker, readRecord, writeRecord } from './local-record.ts';
import { assertJava, ensureJars, systemToolchain, type Toolchain } from './local-toolchain.ts';
import type { OnDownload } from './maven-download.ts';
import { waitUntilReady } from './ready.ts';

const run = promisify(execFile);

// A process that exits is noticed at once. A live one may just be slow, and ending it would only make it start over.
const READY_TIMEOUT_MS = 180_000;
const STOP_GRACE_MS = 15_000;
const ADOPT_TIMEOUT_MS = 5_000;

export interface LocalKafkaOptions extends NodeExtras {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly signal?: AbortSignal;
  /** The folder of the jars, when several data directories share it. */
  readonly libsDir?: string;
  readonly toolchain?: Toolchain;
  /** Called during the download of the jars, which happens once. */
  readonly onDownload?: OnDownload;
}

export interface LocalKafka {
  readonly brokers: string[];
  readonly pid: number;
  /** False when another live process started it; then stop() and kill() do nothing. */
  readonly owned: boolean;
  /** Exit code of the broker process; null when it was killed or its code is unknown. */
  readonly exited: Promise<number | null>;
  /** Clean shutdown: SIGTERM, and SIGKILL after 15 s. Resolves when the process has exited. */
  stop(): Promise<void>;
  /** Sends SIGKILL at once. */
  kill(): void;
}

/** Starts the local Kafka, or takes over a running one, and resolves when it answers a metadata request. */
export async function startLocalKafka(options: LocalKafkaOptions): Promise<LocalKafka> {
  const paths = localPaths(resolve(options.dataDir), options.libsDir === undefined ? undefined : resolve(options.libsDir));
  await mkdir(paths.logs, { recursive: true });
  return withLock(paths.lock, () => startLocked(paths, options), options.signal);
}

/** Ends the broker of a data directory, even if another process started it. Exported for the teardown of tests. */
export async function stopLocalKafka(dataDir: string): Promise<void> {
  const paths = localPaths(resolve(dataDir));
  const found = await findBroker(paths, await readRecord(paths));
  if (found.kind !== 'none') await endProcess(found.broker, STOP_GRACE_MS);
}

async function startLocked(paths: LocalPaths, options: LocalKafkaOptions): Promise<LocalKafka> {
  const record = await readRecord(paths);
  const found = await findBroker(paths, record);
  if (found.kind !== 'none') {
    const taken = await takeOver(paths, found, options);
    if (taken !== undefined) return taken;
  }
  const toolchain = options.toolchain ?? systemToolchain;
  const [ports] = await Promise.all([portsOf(options, record?.ports), assertJava(toolchain)]);
  await ensureJars(paths, { ...options, toolchain });
  await writeFile(paths.properties, propertiesText(paths, ports, options));
  await writeFile(paths.log4j, log4jText(paths));
  await writeRecord(paths, { ports });
  await formatOnce(paths, toolchain, options.node?.clusterId);
  options.signal?.throwIfAborted();
  return launch(paths, ports, { ...options, toolchain });
}

/** In a cluster the ports are fixed, because the other nodes know this node by them. */
const portsOf = async ({ node }: LocalKafkaOptions, remembered: LocalPorts | undefined): Promise<LocalPorts> =>
  node?.ports[node.id - 1] ?? choosePorts(remembered);

const brokersOf = (ports: LocalPorts): string[] => [`127.0.0.1:${ports.broker}`];

type RunningBroker = Extract<Awaited<ReturnType<typeof findBroker>>, { readonly broker: ProcessIdentity }>;

/**
 * Uses the broker that is already running. If it does not answer, or has another configuration, ends it instead, unless another process
 * owns it.
 */
async function takeOver(paths: LocalPaths, found: RunningBroker, options: LocalKafkaOptions): Promise<LocalKafka | undefined> {
  const owned = found.kind === 'orphan';
  const brokers = brokersOf(found.ports);
  try {
    await assertUsable(paths, found, options);
  } catch (error) {
    if (!owned || options.signal?.aborted === true) throw error;
    options.logger.warn({ pid: found.broker.pid, reason: messageOf(error) }, 'ending a local Kafka that was left behind');
    await endProcess(found.broker, STOP_GRACE_MS);
    return undefined;
  }
  if (owned) await writeRecord(paths, { ports: found.ports, broker: found.broker, owner: await ownIdentity() });
  options.logger.info(
    { pid: found.broker.pid, brokers },
    owned ? 'took over the local Kafka that was left running' : 'using the local Kafka of another process',
  );
  const exited = waitForExit(found.broker).then(() => null);
  return handleOf({ paths, ports: found.ports, broker: found.broker, owned, exited });
}

async function assertUsable(paths: LocalPaths, found: RunningBroker, options: LocalKafkaOptions): Promise<void> {
  const { signal } = options;
  const owned = found.kind === 'orphan';
  const same = (await readFile(paths.properties, 'utf8').catch(() => '')) === propertiesText(paths, found.ports, options);
  if (!same && owned) throw new Error('its configuration differs');
  const timeoutMs = owned ? ADOPT_TIMEOUT_MS : READY_TIMEOUT_MS;
  await waitUntilReady(brokersOf(found.ports), { timeoutMs, ...(signal === undefined ? {} : { signal }) });
}

/** A random cluster id. Exported for clusters of several nodes, which only tests start. */
export const newClusterId = (): string => randomBytes(16).toString('base64url');

/** Writes the storage metadata of a new data directory. */
async function formatOnce(paths: LocalPaths, toolchain: Toolchain, given: string | undefined): Promise<void> {
  if (existsSync(join(paths.data, 'meta.properties'))) return;
  // may begin with a hyphen, so the option and its value are one argument
  const clusterId = given ?? newClusterId();
  const args = [...javaArgs(paths), 'kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, '-c', paths.properties];
  await run(toolchain.java, args, { timeout: READY_TIMEOUT_MS }).catch((cause: unknown) => {
    throw new PlatformError('KAFKA_UNAVAILABLE', `formatting the data of the local Kafka in ${paths.data}: ${messageOf(cause)}`, { cause });
  });
}

const javaArgs = (paths: LocalPaths): string[] => [
  '-Xmx512m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Djava.awt.headless=true',
  `-Dlog4j2.configurationFile=${paths.log4j}`,
  '-cp',
  join(paths.libs, '*'),
];

async function launch(paths: LocalPaths, ports: LocalPorts, options: LocalKafkaOptions & { toolchain: Toolchain }): Promise<LocalKafka> {
  const outputFile = join(paths.logs, 'broker.out');
  const child = spawnDetached(options.toolchain.java, [...javaArgs(paths), 'kafka.Kafka', paths.properties], {
    outputFile,
    cwd: paths.root,
  });
  const exited = new Promise<number | null>((settle) => {
    child.once('exit', (code) => {
      settle(code);
    });
    child.once('error', () => {
      settle(null);
    });
  });
  const { pid } = child;
  if (pid === undefined) throw new PlatformError('TOOLCHAIN_MISSING', 'starting the local Kafka: java could not be run');
  const broker = { pid, startedAt: (await describeProcess(pid))?.startedAt ?? '' };
  try {
    // no other process could find a broker without a record: if the record cannot be written, the broker is ended
    await writeRecord(paths, { ports, broker, owner: await ownIdentity() });
    await readyOrGone(brokersOf(ports), exited, options.signal);
  } catch (cause) {
    await endProcess(broker, STOP_GRACE_MS);
    if (options.signal?.aborted === true) throw cause;
    const tail = await lastLines(outputFile);
    throw new PlatformError(
      'KAFKA_UNAVAILABLE',
      `starting the local Kafka: ${messageOf(cause)}. See ${paths.logs}. Its last lines:\n${tail}`,
      { cause },
    );
  }
  await endLostTransactions(brokersOf(ports), options.logger);
  await keepInternalTopicsSmall(brokersOf(ports), options.logger);
  return handleOf({ paths, ports, broker, owned: true, exited });
}

/** A broker whose transactions cannot be looked at is still of use: the writer of each looks again when it opens. */
async function endLostTransactions(brokers: readonly string[], logger: Logger): Promise<void> {
  try {
    await finishTransactions({ kafka: setupClient(brokers), logger });
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, 'the local Kafka could not be asked for transactions without an end');
  }
}

async function readyOrGone(brokers: readonly string[], exited: Promise<number | null>, signal: AbortSignal | undefined): Promise<void> {
  const gone = new AbortController();
  const either = signal === undefined ? gone.signal : AbortSignal.any([gone.signal, signal]);
  void exited.then((code) => {
    gone.abort(new Error(`the broker exited with code ${code ?? 'unknown'}`));
  });
  await waitUntilReady(brokers, { timeoutMs: READY_TIMEOUT_MS, signal: either });
}

async function lastLines(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-15).join('\n');
}

interface HandleParts {
  readonly paths: LocalPaths;
  readonly ports: LocalPorts;
  readonly broker: ProcessIdentity;
  readonly owned: boolean;
  readonly exited: Promise<number | null>;
}

function handleOf({ paths, ports, broker, owned, exited }: HandleParts): LocalKafka {
  return {
    brokers: brokersOf(ports),
    pid: broker.pid,
    owned,
    exited,
    async stop() {
      if (!owned) return;
      if (await isAlive(broker)) await endProcess(broker, STOP_GRACE_MS);
      const record = await readRecord(paths);
      if (record?.broker?.pid === broker.pid) await writeRecord(paths, { ports });
    },
    kill() {
      if (owned) signalProcess(broker.pid, 'SIGKILL');
    },
  };
}
