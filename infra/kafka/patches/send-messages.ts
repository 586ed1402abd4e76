// Sends records to the leaders of their partitions.
//
// Reason: kafkajs retries as soon as one of several brokers fails, while requests to others are still in flight. Those brokers receive
// their records again with other sequence numbers and store them twice, even within a transaction. kafkajs also counts responses by broker,
// so a partition whose leader moved between two attempts is sent twice, or never.
// Upstream: related to https://github.com/tulios/kafkajs/issues/22 and https://github.com/tulios/kafkajs/issues/598.
//
// - A record gets its partition once. A partition is sent until it has a response, always as the same batch with the same sequence numbers,
// so that a broker recognizes duplicates.
// - An attempt ends when every broker has responded or failed; only then does the next one begin.
import type { Patch } from './patch.ts';
import type { ICustomPartitioner, Message, PartitionMetadata, RecordMetadata, TopicMessages } from 'kafkajs';

type Leaders = Readonly<Record<string, readonly number[]>>;

interface PartitionData {
  readonly partition: number;
  readonly messages: readonly Message[];
  firstSequence: number;
}

interface TopicData {
  readonly topic: string;
  readonly partitions: readonly PartitionData[];
}

interface Broker {
  produce(request: object): Promise<{ readonly topics: readonly AnsweredTopic[] }>;
}

interface AnsweredTopic {
  readonly topicName: string;
  readonly partitions: readonly { readonly partition: number }[];
}

/** What kafkajs passes to the module. */
export interface SendDeps {
  readonly cluster: {
    addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
    refreshMetadataIfNecessary(): Promise<void>;
    refreshMetadata(): Promise<void>;
    findTopicPartitionMetadata(topic: string): PartitionMetadata[];
    findLeaderForPartitions(topic: string, partitions: readonly number[]): Leaders;
    findBroker(of: { readonly nodeId: string }): Promise<Broker>;
    removeBroker(address: { readonly host: string; readonly port: number }): void;
    isConnected(): boolean;
    connect(): Promise<void>;
  };
  readonly partitioner: ReturnType<ICustomPartitioner>;
  readonly eosManager: {
    isTransactional(): boolean;
    getTransactionalId(): string;
    getProducerId(): number;
    getProducerEpoch(): number;
    getSequence(topic: string, partition: number): number;
    updateSequence(topic: string, partition: number, increment: number): void;
    addPartitionsToTransaction(data: readonly TopicData[]): Promise<void>;
    acquireBrokerLock(broker: Broker): Promise<void>;
    releaseBrokerLock(broker: Broker): Promise<void>;
  };
  readonly retrier: <T>(work: (bail: (error: unknown) => void) => Promise<T>) => Promise<T>;
}

export interface SendOptions {
  readonly acks: number;
  readonly timeout?: number;
  readonly compression?: number;
  readonly topicMessages: readonly TopicMessages[];
}

/** The pending records of one partition. */
interface PartitionBatch {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly Message[];
  answer?: RecordMetadata;
}

/** kafkajs retries errors that have this field. */
class NoLeaderError extends Error {
  readonly retriable = true;
}

export function createSendMessages(deps: SendDeps) {
  const { cluster, retrier } = deps;
  return async (options: SendOptions): Promise<readonly RecordMetadata[]> => {
    const topics = options.topicMessages.map(({ topic }) => topic);
    let parts: readonly PartitionBatch[] | undefined;
    return retrier(async (bail) => {
      await cluster.addMultipleTargetTopics(topics);
      try {
        await cluster.refreshMetadataIfNecessary();
        parts ??= options.topicMessages.flatMap((one) => partsOf(one, deps));
        await sendPending(parts, options, deps);
        return parts.flatMap(({ answer }) => (answer === undefined ? [] : [answer]));
      } catch (error) {
        await afterFailure(error as KafkaJSError, bail, deps);
        throw error;
      }
    });
  };
}

function partsOf({ topic, messages }: TopicMessages, { cluster, partitioner }: SendDeps): readonly PartitionBatch[] {
  const partitionMetadata = cluster.findTopicPartitionMetadata(topic);
  if (partitionMetadata.length === 0) throw new NoLeaderError(`nothing is known of the partitions of ${topic}`);
  const byPartition = new Map<number, Message[]>();
  for (const message of messages) {
    const partition = partitioner({ topic, partitionMetadata, message });
    const those = byPartition.get(partition);
    if (those === undefined) byPartition.set(partition, [message]);
    else those.push(message);
  }
  return [...byPartition].map(([partition, own]) => ({ topic, partition, messages: own }));
}

/** Sends everything that has no response yet, to all leaders in parallel. When every broker is done, throws the first failure. */
async function sendPending(parts: readonly PartitionBatch[], options: SendOptions, deps: SendDeps): Promise<void> {
  const byLeader = new Map<string, PartitionBatch[]>();
  for (const part of parts) {
    if (part.answer !== undefined) continue;
    const leader = Object.keys(deps.cluster.findLeaderForPartitions(part.topic, [part.partition]))[0];
    if (leader === undefined) throw new NoLeaderError(`partition ${part.partition} of ${part.topic} has no leader`);
    const those = byLeader.get(leader);
    if (those === undefined) byLeader.set(leader, [part]);
    else those.push(part);
  }
  const ended = await Promise.allSettled([...byLeader].map(([nodeId, own]) => sendTo(nodeId, own, { options, deps })));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}

async function sendTo(
  nodeId: string,
  parts: readonly PartitionBatch[],
  { options, deps }: { readonly options: SendOptions; readonly deps: SendDeps },
): Promise<void> {
  const { eosManager, cluster } = deps;
  const broker = await cluster.findBroker({ nodeId });
  const topicData = topicDataOf(parts);
  await eosManager.acquireBrokerLock(broker);
  try {
    if (eosManager.isTransactional()) await eosManager.addPartitionsToTransaction(topicData);
    takeSequence(topicData, eosManager);
    const request = {
      transactionalId: eosManager.isTransactional() ? eosManager.getTransactionalId() : undefined,
      producerId: eosManager.getProducerId(),
      producerEpoch: eosManager.getProducerEpoch(),
      ...{ acks: options.acks, timeout: options.timeout, compression: options.compression, topicData },
    };
    const { topics } = await broker.produce(request).catch((error: unknown) => {
      giveSequenceBack(topicData, eosManager);
      throw error;
    });
    for (const { topicName, partitions } of topics) {
      for (const answered of partitions) {
        const part = parts.find(({ topic, partition }) => topic === topicName && partition === answered.partition);
        if (part !== undefined) part.answer = { topicName, ...answered } as unknown as RecordMetadata;
      }
    }
  } finally {
    await eosManager.releaseBrokerLock(broker);
  }
}

function topicDataOf(parts: readonly PartitionBatch[]): readonly TopicData[] {
  const topics = [...new Set(parts.map(({ topic }) => topic))];
  return topics.map((topic) => ({
    topic,
    partitions: parts.filter((part) => part.topic === topic).map(({ partition, messages }) => ({ partition, messages, firstSequence: 0 })),
  }));
}

function takeSequence(topicData: readonly TopicData[], eosManager: SendDeps['eosManager']): void {
  for (const { topic, partitions } of topicData) {
    for (const entry of partitions) {
      entry.firstSequence = eosManager.getSequence(topic, entry.partition);
      eosManager.updateSequence(topic, entry.partition, entry.messages.length);
    }
  }
}

function giveSequenceBack(topicData: readonly TopicData[], eosManager: SendDeps['eosManager']): void {
  for (const { topic, partitions } of topicData) {
    for (const { partition, messages } of partitions) eosManager.updateSequence(topic, partition, -messages.length);
  }
}

/** An error of kafkajs; errors of a closed connection name its broker. */
type KafkaJSError = Error & { readonly retriable?: boolean; readonly host?: string; readonly port?: number };

/** Prepares the next attempt, or bails out when the error is not retriable. */
async function afterFailure(error: KafkaJSError, bail: (error: unknown) => void, { cluster }: SendDeps): Promise<void> {
  const { name, retriable, host, port } = error;
  if (name === 'KafkaJSConnectionClosedError' && host !== undefined && port !== undefined) cluster.removeBroker({ host, port });
  if (!cluster.isConnected()) {
    await cluster.connect();
    await cluster.refreshMetadata();
  } else if (retriable === true) {
    await cluster.refreshMetadata();
  } else {
    bail(error);
  }
}

export const sendMessagesPatch: Patch = { module: 'producer/sendMessages.js', replace: () => createSendMessages };
