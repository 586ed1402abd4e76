// Writes the end markers of transactions that a broker has decided to commit or abort, but has not ended.
//
// Kafka acknowledges a commit before it writes the markers that end the transaction in each of its partitions. A broker that is killed in
// between writes them after its next start. In Kafka 4.3, partitions without replicas on other brokers have no leader for some milliseconds
// of that start. The broker then takes them for deleted and records the transaction as complete without writing a marker ("these partitions
// are likely deleted already and hence can be skipped" in its log). The transaction stays open in these partitions: consumers that read
// only committed records wait, and no timeout ends it.
//
// The coordinator knows its decision until a producer with the same transactional id starts. This module asks for the decision and writes
// the missing markers.
import type { Kafka } from 'kafkajs';
import { groupBy } from '../../../streams/core/group-by.ts';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { reconnectMs } from '../backoff.ts';
import { isFinal, kafkaError } from '../kafka-error.ts';
import { clusterFactoryOf, type BrokerConnection, type Cluster } from '../patches/cluster.ts';
import {
  describeProducers,
  describeTransaction,
  knowsTransactions,
  listTransactions,
  RequestFailed,
  writeMarker,
  type OpenTransaction,
  type TopicPartitions,
  type TransactionOfId,
} from './requests.ts';

export interface FinishOptions {
  readonly kafka: Kafka;
  readonly logger: Logger;
  /** Default: every id of the cluster. */
  readonly transactionalIds?: readonly string[];
  /** Only topics whose names begin with this are examined, and the topic of consumer offsets. Default: all topics. */
  readonly prefix?: string;
}

const TIMEOUT_MS = 15_000;
/** As in the protocol. */
const TRANSACTION_COORDINATOR = 1;
const OFFSETS_TOPIC = '__consumer_offsets';

/** CLUSTER_AUTHORIZATION_FAILED and TRANSACTIONAL_ID_AUTHORIZATION_FAILED. */
const REFUSALS = new Set([31, 53]);
const NO_LEADER = -1;

const UNKNOWN_END =
  'Kafka lost the end marker of a transaction, and no longer knows whether to commit or abort it; ' +
  'consumers wait until it is aborted with kafka-transactions.sh of Apache Kafka';

/** The coordinator has decided, and the markers are still being written. */
const isBeingEnded = ({ state }: TransactionOfId): boolean => state.startsWith('Prepare');
const isEnded = ({ state }: TransactionOfId): boolean => state === 'CompleteCommit' || state === 'CompleteAbort';

/**
 * Ends the transactions whose end markers were lost, and logs a warning for each. Throws CONFIG_INVALID if this client lacks the permission
 * for it, and KAFKA_UNAVAILABLE if no broker answers within 15 s.
 */
export async function finishTransactions(options: FinishOptions): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (let attempt = 0; ; attempt += 1) {
    const cluster = clusterFactoryOf(options.kafka).create({ metadataMaxAge: TIMEOUT_MS, allowAutoTopicCreation: false });
    try {
      await cluster.connect();
      if (await finishOnce(cluster, options)) return;
    } catch (error) {
      if (isRefused(error)) throw refusedError(error);
      const isLast = performance.now() >= deadline;
      if (isLast && error instanceof RequestFailed) {
        options.logger.warn({ error: messageOf(error) }, 'Kafka did not report which transactions have no end');
        return;
      }
      if (isLast || isFinal(error)) throw kafkaError('looking for transactions without an end', error);
    } finally {
      await cluster.disconnect().catch(() => undefined);
    }
    if (performance.now() >= deadline) return;
    await pause(reconnectMs(attempt));
  }
}

/** False if Kafka has to be asked again: just after a start, partitions have no leader, and transactional ids have no coordinator. */
async function finishOnce(cluster: Cluster, { transactionalIds, prefix = '', logger }: FinishOptions): Promise<boolean> {
  const { brokers, topicMetadata } = await cluster.metadata({ topics: [] });
  const all = await Promise.all(brokers.map(({ nodeId }) => cluster.findBroker({ nodeId })));
  if (!all.every(knowsTransactions)) return true;
  const byLeader = partitionsByLeader(topicMetadata.filter(({ topic }) => topic.startsWith(prefix) || topic === OFFSETS_TOPIC));
  const areLed = !byLeader.has(NO_LEADER);
  const producers = new Set((await openTransactions(cluster, byLeader)).map(({ producerId }) => producerId));
  if (producers.size === 0) return areLed;
  const ids = transactionalIds ?? (await idsOf(all, producers));
  const known = await describeAll(cluster, ids);
  // read again: a transaction that was open before may have ended before its coordinator was asked
  const open = await openTransactions(cluster, byLeader);
  for (const transaction of known) await finishOne(transaction, { cluster, open, logger });
  const areAllKnown = transactionalIds !== undefined || new Set(known.map(({ producerId }) => producerId)).size === producers.size;
  return areLed && areAllKnown && !known.some(isBeingEnded);
}

async function idsOf(brokers: readonly BrokerConnection[], producers: ReadonlySet<bigint>): Promise<string[]> {
  const listed = await Promise.all(brokers.map(listTransactions));
  return listed.flat().flatMap(({ transactionalId, producerId }) => (producers.has(producerId) ? [transactionalId] : []));
}

async function describeAll(cluster: Cluster, ids: readonly string[]): Promise<TransactionOfId[]> {
  const found = await Promise.all(ids.map((id) => describe(cluster, id)));
  return found.filter((one) => one !== undefined);
}

async function describe(cluster: Cluster, transactionalId: string): Promise<TransactionOfId | undefined> {
  const coordinator = await cluster.findGroupCoordinator({ groupId: transactionalId, coordinatorType: TRANSACTION_COORDINATOR });
  return describeTransaction(coordinator, transactionalId);
}

interface OpenAtLeader extends OpenTransaction {
  readonly leader: BrokerConnection;
}

async function openTransactions(cluster: Cluster, byLeader: ReadonlyMap<number, readonly TopicPartitions[]>): Promise<OpenAtLeader[]> {
  const found = await Promise.all(
    Array.from(byLeader, async ([nodeId, topics]) => {
      if (nodeId === NO_LEADER) return [];
      const leader = await cluster.findBroker({ nodeId });
      return (await describeProducers(leader, topics)).map((open) => ({ ...open, leader }));
    }),
  );
  return found.flat();
}

function partitionsByLeader(topics: Awaited<ReturnType<Cluster['metadata']>>['topicMetadata']): Map<number, TopicPartitions[]> {
  const byLeader = new Map<number, TopicPartitions[]>();
  for (const { topic, partitionMetadata } of topics) {
    for (const [leader, led] of groupBy(partitionMetadata, (partition) => partition.leader)) {
      const partitions = led.map(({ partitionId }) => partitionId);
      byLeader.set(leader, [...(byLeader.get(leader) ?? []), { topic, partitions }]);
    }
  }
  return byLeader;
}

interface FinishDeps extends Pick<FinishOptions, 'logger'> {
  readonly cluster: Cluster;
  readonly open: readonly OpenAtLeader[];
}

async function finishOne(transaction: TransactionOfId, deps: FinishDeps): Promise<void> {
  const { transactionalId, producerId, producerEpoch, state } = transaction;
  const ofProducer = deps.open.filter((one) => one.producerId === producerId);
  if (state === 'Empty' && ofProducer.length > 0)
    deps.logger.warn({ transactional_id: transactionalId, partitions: ofProducer.map(nameOf) }, UNKNOWN_END);
  const lost = ofProducer.filter((one) => one.producerEpoch === producerEpoch);
  if (isEnded(transaction) && lost.length > 0) await writeEnd(transaction, lost, deps);
}

/** Leaves alone a transaction that began meanwhile: the coordinator must report the same before and after the partitions are read. */
async function writeEnd(decided: TransactionOfId, lost: readonly OpenAtLeader[], { cluster, logger }: FinishDeps): Promise<void> {
  const { transactionalId, producerId, producerEpoch, state } = decided;
  const now = await describe(cluster, transactionalId);
  if (now?.state !== state || now.startedMs !== decided.startedMs || now.producerEpoch !== producerEpoch) return;
  const commit = state === 'CompleteCommit';
  for (const { leader, topic, partition, coordinatorEpoch } of lost) {
    await writeMarker(leader, {
      ...{ producerId, producerEpoch, commit, coordinatorEpoch: Math.max(0, coordinatorEpoch) },
      topics: [{ topic, partitions: [partition] }],
    });
  }
  const outcome = commit ? 'committed' : 'aborted';
  logger.warn(
    { transactional_id: transactionalId, outcome, partitions: lost.map(nameOf) },
    'ended a transaction that Kafka had decided, but whose end marker it had lost when a broker was killed',
  );
}

const nameOf = ({ topic, partition }: OpenTransaction): string => `${topic}/${partition}`;

const isRefused = (error: unknown): boolean => error instanceof RequestFailed && REFUSALS.has(error.code);

const refusedError = (cause: unknown): PlatformError =>
  new PlatformError(
    'CONFIG_INVALID',
    `ending a transaction that Kafka had decided, but whose end marker it had lost: ${messageOf(cause)}. ` +
      'Its records block every reader. Grant this user Alter on the cluster for one start',
    { cause },
  );
