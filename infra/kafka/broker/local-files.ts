// The files of the local broker: their paths, and the text of its configuration.
import { join } from 'node:path';
import { MAX_MESSAGE_BYTES } from '../records/message.ts';
import { INTERNAL_SEGMENT_BYTES } from './internal-topics.ts';

export const KAFKA_VERSION = '4.3.0';
const SCALA_VERSION = '2.13';
const LOG4J_VERSION = '2.24.3';

export interface LocalPaths {
  readonly root: string;
  readonly libs: string;
  /** If it exists, `libs` is complete and has the right version. */
  readonly mainJar: string;
  readonly data: string;
  readonly logs: string;
  readonly properties: string;
  readonly log4j: string;
  readonly record: string;
  readonly lock: string;
}

/** `libsDir` lets several data directories share one copy of the jars. */
export function localPaths(dataDir: string, libsDir?: string): LocalPaths {
  const root = join(dataDir, 'kafka');
  const libs = libsDir ?? join(root, 'libs');
  return {
    root,
    libs,
    mainJar: join(libs, `kafka_${SCALA_VERSION}-${KAFKA_VERSION}.jar`),
    data: join(root, 'data'),
    logs: join(root, 'logs'),
    properties: join(root, 'server.properties'),
    log4j: join(root, 'log4j2.properties'),
    record: join(root, 'broker.json'),
    lock: join(root, 'start.lock'),
  };
}

/** The Maven project whose dependencies are the jars of the broker. */
export const pomText = `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>turnstream</groupId>
  <artifactId>local-kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_${SCALA_VERSION}</artifactId>
      <version>${KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>${LOG4J_VERSION}</version>
    </dependency>
  </dependencies>
</project>
`;

/** A second listener for clients that reach the broker through a proxy: its own port, and the port to advertise. */
export interface Front {
  readonly listen: number;
  readonly advertise: number;
}

export interface LocalPorts {
  readonly broker: number;
  readonly controller: number;
}

/** The position of the node in a cluster of several nodes. */
export interface ClusterNode {
  /** Starts at 1. */
  readonly id: number;
  readonly clusterId: string;
  /** Ports of all nodes, ordered by id. */
  readonly ports: readonly LocalPorts[];
}

/** Optional settings of a node. */
export interface NodeExtras {
  readonly front?: Front;
  /** Without it the node forms a cluster of its own. */
  readonly node?: ClusterNode;
}

/** A KRaft node with the roles broker and controller, reachable only from this machine, with small internal topics for a fast start. */
export function propertiesText(paths: LocalPaths, ports: LocalPorts, { front, node }: NodeExtras = {}): string {
  const [listens, advertises] =
    front === undefined ? ['', ''] : [`,FRONT://127.0.0.1:${front.listen}`, `,FRONT://127.0.0.1:${front.advertise}`];
  const voters = (node?.ports ?? [ports]).map(({ controller }, i) => `${i + 1}@127.0.0.1:${controller}`);
  const replication = voters.length;
  const insync = Math.max(1, replication - 1);
  return `${[
    'process.roles=broker,controller',
    `node.id=${node?.id ?? 1}`,
    `controller.quorum.voters=${voters.join(',')}`,
    'controller.listener.names=CONTROLLER',
    'inter.broker.listener.name=PLAINTEXT',
    `listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT${front === undefined ? '' : ',FRONT:PLAINTEXT'}`,
    `listeners=PLAINTEXT://127.0.0.1:${ports.broker},CONTROLLER://127.0.0.1:${ports.controller}${listens}`,
    `advertised.listeners=PLAINTEXT://127.0.0.1:${ports.broker}${advertises}`,
    `log.dirs=${paths.data.replaceAll('\\', '/')}`,
    'auto.create.topics.enable=false',
    'num.partitions=1',
    `default.replication.factor=${replication}`,
    `min.insync.replicas=${insync}`,
    `offsets.topic.replication.factor=${replication}`,
    'offsets.topic.num.partitions=4',
    `offsets.topic.segment.bytes=${INTERNAL_SEGMENT_BYTES}`,
    'offsets.retention.minutes=52560000',
    `transaction.state.log.replication.factor=${replication}`,
    `transaction.state.log.min.isr=${insync}`,
    'transaction.state.log.num.partitions=4',
    `transaction.state.log.segment.bytes=${INTERNAL_SEGMENT_BYTES}`,
    'transaction.abort.timed.out.transaction.cleanup.interval.ms=1000',
    `share.coordinator.state.topic.replication.factor=${replication}`,
    `share.coordinator.state.topic.min.isr=${insync}`,
    'share.coordinator.state.topic.num.partitions=1',
    'group.initial.rebalance.delay.ms=0',
    'group.min.session.timeout.ms=1000',
    // a single node has no successor; several nodes on one machine must not mistake a busy moment for a failure
    ...(replication === 1
      ? ['broker.heartbeat.interval.ms=250', 'broker.session.timeout.ms=1500']
      : ['broker.heartbeat.interval.ms=500', 'broker.session.timeout.ms=4000']),
    `message.max.bytes=${MAX_MESSAGE_BYTES}`,
    `replica.fetch.max.bytes=${MAX_MESSAGE_BYTES}`,
    'log.retention.ms=-1',
    // Deleted records leave the disk one segment at a time, and a broker that was killed reads the newest segment of every partition.
    'log.segment.bytes=33554432',
    'log.retention.check.interval.ms=60000',
    'num.network.threads=2',
    'num.io.threads=4',
    'num.recovery.threads.per.data.dir=2',
    'log.cleaner.dedupe.buffer.size=16777216',
  ].join('\n')}\n`;
}

/** Logs warnings and errors to one rolling file of 10 MB. */
export function log4jText(paths: LocalPaths): string {
  const file = `${paths.logs.replaceAll('\\', '/')}/server.log`;
  return `${[
    'status=error',
    'name=turnstream-local-kafka',
    'appender.file.type=RollingFile',
    'appender.file.name=File',
    `appender.file.fileName=${file}`,
    `appender.file.filePattern=${file}.%i`,
    'appender.file.layout.type=PatternLayout',
    'appender.file.layout.pattern=[%d] %p %m (%c)%n',
    'appender.file.policies.type=Policies',
    'appender.file.policies.size.type=SizeBasedTriggeringPolicy',
    'appender.file.policies.size.size=10MB',
    'appender.file.strategy.type=DefaultRolloverStrategy',
    'appender.file.strategy.max=2',
    'rootLogger.level=warn',
    'rootLogger.appenderRef.file.ref=File',
    'logger.start.name=kafka.server.KafkaRaftServer',
    'logger.start.level=info',
  ].join('\n')}\n`;
}
