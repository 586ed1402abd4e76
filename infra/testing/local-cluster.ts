// Several nodes of Apache Kafka on this machine, each both broker and controller: topics are replicated to all of them, and a write is
// acknowledged by all but one. For tests of losing a partition leader.
//
// - The ports and the cluster id are chosen once and kept in `<dataDir>/cluster.json`: a restarted node is the same node. If another
// program takes its port meanwhile, the node does not start.
// - A node is a process like that of local.ts; its owner restarts it.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Logger } from '../../streams/core/ports.ts';
import { kafkajs } from '../kafka/patches/kafkajs.ts';
import { newClusterId, startLocalKafka, type LocalKafka } from '../kafka/broker/local.ts';
import type { ClusterNode, Front } from '../kafka/broker/local-files.ts';
import { choosePortsOf } from '../kafka/broker/local-ports.ts';

const READY_TIMEOUT_MS = 180_000;

export interface LocalClusterOptions {
  readonly dataDir: string;
  readonly nodes: number;
  readonly logger: Logger;
  readonly libsDir?: string;
  /** One per node, when clients connect through proxies. */
  readonly fronts?: readonly Front[];
}

export interface LocalCluster {
  /** Addresses of all nodes. */
  readonly brokers: readonly string[];
  /** Starts the node with this id (from 1), or takes over its process. Resolves when it answers, which requires most of the others. */
  start(id: number): Promise<LocalKafka>;
  /** Starts all nodes and resolves when each one knows the others. */
  startAll(): Promise<readonly LocalKafka[]>;
}

/** Starts no node yet. */
export async function openLocalCluster(options: LocalClusterOptions): Promise<LocalCluster> {
  const dataDir = resolve(options.dataDir);
  const { clusterId, ports } = await identityOf(dataDir, options.nodes);
  const brokers = ports.map(({ broker }) => `127.0.0.1:${broker}`);
  const start = (id: number): Promise<LocalKafka> => {
    const front = options.fronts?.[id - 1];
    return startLocalKafka({
      dataDir: join(dataDir, `node-${id}`),
      logger: options.logger,
      node: { id, clusterId, ports },
      ...(front === undefined ? {} : { front }),
      ...(options.libsDir === undefined ? {} : { libsDir: options.libsDir }),
    });
  };
  return {
    brokers,
    start,
    async startAll() {
      // no node answers before most of them are up
      const nodes = await Promise.all(ports.map((_, i) => start(i + 1)));
      await waitForNodes(brokers, ports.length);
      return nodes;
    },
  };
}

type ClusterIdentity = Pick<ClusterNode, 'clusterId' | 'ports'>;

async function identityOf(dataDir: string, nodes: number): Promise<ClusterIdentity> {
  const file = join(dataDir, 'cluster.json');
  const known = await readFile(file, 'utf8').catch(() => undefined);
  if (known !== undefined) return JSON.parse(known) as ClusterIdentity;
  const identity = { clusterId: newClusterId(), ports: await choosePortsOf(nodes) };
  await mkdir(dataDir, { recursive: true });
  await writeFile(file, JSON.stringify(identity));
  return identity;
}

async function withAdmin<T>(
  brokers: readonly string[],
  ask: (admin: ReturnType<InstanceType<typeof kafkajs.Kafka>['admin']>) => Promise<T>,
): Promise<T> {
  const kafka = new kafkajs.Kafka({
    ...{ clientId: 'turnstream-cluster', brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING },
    ...{ connectionTimeout: 1_000, requestTimeout: 5_000, retry: { retries: 2, initialRetryTime: 100 } },
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await ask(admin);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

async function waitForNodes(brokers: readonly string[], nodes: number): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const found = await withAdmin(brokers, async (admin) => (await admin.describeCluster()).brokers.length).catch(() => 0);
    if (found === nodes) return;
    await delay(100);
  }
  throw new PlatformError(
    'KAFKA_UNAVAILABLE',
    `starting a cluster of ${nodes} nodes: they did not find each other within ${READY_TIMEOUT_MS / 1000} s`,
  );
}

/** A partition, and the id of its leader. */
export interface Leader {
  /** The topic's full name. */
  readonly topic: string;
  readonly partition: number;
  readonly node: number;
}

/** The leader of each partition of these topics; partitions without a leader are left out. */
export async function leadersOf(brokers: readonly string[], topics: readonly string[]): Promise<readonly Leader[]> {
  const { topics: found } = await withAdmin(brokers, (admin) => admin.fetchTopicMetadata({ topics: [...topics] }));
  return found.flatMap(({ name, partitions }) =>
    partitions.flatMap(({ partitionId, leader }) => (leader < 0 ? [] : [{ topic: name, partition: partitionId, node: leader }])),
  );
}
