// The requests that Kafka's own tool for hanging transactions sends (KIP-664). kafkajs does not have them.
import type { BrokerConnection, BrokerRequest } from '../patches/cluster.ts';
import { WireReader, WireWriter } from './wire.ts';

/** A transactional id, as its coordinator knows it. */
export interface TransactionOfId {
  readonly transactionalId: string;
  /** E.g. `Ongoing`, `PrepareCommit`, `CompleteCommit`. */
  readonly state: string;
  readonly startedMs: bigint;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

export interface TopicPartitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

/** A transaction without an end in a partition. */
export interface OpenTransaction {
  readonly topic: string;
  readonly partition: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** -1 before the first marker of the producer. */
  readonly coordinatorEpoch: number;
}

/** Ends a transaction in partitions of one leader. */
export interface Marker {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly coordinatorEpoch: number;
  readonly commit: boolean;
  readonly topics: readonly TopicPartitions[];
}

/** A broker did not do what it was asked. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed';
  /** Of the protocol. */
  readonly code: number;

  constructor(request: string, code: number) {
    super(`the broker answered ${request} with error ${code} of the protocol`);
    this.code = code;
  }
}

const NONE = 0;
const TOPIC_AUTHORIZATION_FAILED = 29;
const TRANSACTIONAL_ID_NOT_FOUND = 105;

interface RequestKind {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly apiName: string;
}

const DESCRIBE_PRODUCERS: RequestKind = { apiKey: 61, apiVersion: 0, apiName: 'DescribeProducers' };
const DESCRIBE_TRANSACTIONS: RequestKind = { apiKey: 65, apiVersion: 0, apiName: 'DescribeTransactions' };
const LIST_TRANSACTIONS: RequestKind = { apiKey: 66, apiVersion: 0, apiName: 'ListTransactions' };
const WRITE_MARKERS: RequestKind = { apiKey: 27, apiVersion: 1, apiName: 'WriteTxnMarkers' };

/** Whether a broker knows all requests of this module: Apache Kafka does since 3.0. */
export const knowsTransactions = ({ versions }: BrokerConnection): boolean =>
  [DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS, WRITE_MARKERS].every(({ apiKey, apiVersion }) => {
    const known = versions[apiKey];
    return known !== undefined && known.minVersion <= apiVersion && apiVersion <= known.maxVersion;
  });

interface Exchange<T> extends RequestKind {
  readonly write: (to: WireWriter) => void;
  readonly read: (from: WireReader) => T;
}

function send<T>({ connectionPool }: BrokerConnection, { write, read, ...kind }: Exchange<T>): Promise<T> {
  const sent: BrokerRequest<T> = {
    request: {
      ...kind,
      async encode() {
        // kafkajs writes a header without tagged fields before this
        const writer = new WireWriter().noTags();
        write(writer);
        const bytes = writer.noTags().toBuffer();
        return { buf: bytes, buffer: bytes };
      },
    },
    response: {
      async decode(bytes) {
        const reader = new WireReader(bytes);
        reader.skipTags();
        return read(reader);
      },
      parse: (decoded) => Promise.resolve(decoded),
    },
  };
  return connectionPool.send(sent);
}

export type ListedTransaction = Pick<TransactionOfId, 'transactionalId' | 'producerId'>;

/** The transactional ids of one coordinator. Right after its start, some may be missing. */
export function listTransactions(broker: BrokerConnection): Promise<ListedTransaction[]> {
  return send(broker, {
    ...LIST_TRANSACTIONS,
    write: (to) => void to.array([], () => undefined).array([], () => undefined),
    read: (from) => {
      from.int32();
      refuse(LIST_TRANSACTIONS, from.int16());
      from.array(() => from.string());
      return from.array(() => {
        const [transactionalId, producerId] = [from.string(), from.int64()];
        from.string();
        from.skipTags();
        return { transactionalId, producerId };
      });
    },
  });
}

/** Undefined if the coordinator does not know the id. */
export async function describeTransaction(coordinator: BrokerConnection, transactionalId: string): Promise<TransactionOfId | undefined> {
  const found = await send(coordinator, {
    ...DESCRIBE_TRANSACTIONS,
    write: (to) => to.array([transactionalId], (id) => to.string(id)),
    read: (from) => {
      from.int32();
      return from.array(() => {
        const code = from.int16();
        const [id, state] = [from.string(), from.string()];
        from.int32();
        const [startedMs, producerId, producerEpoch] = [from.int64(), from.int64(), from.int16()];
        from.array(() => {
          from.string();
          from.array(() => from.int32());
          from.skipTags();
        });
        from.skipTags();
        return { code, transactionalId: id, state, startedMs, producerId, producerEpoch };
      });
    },
  });
  const [only] = found;
  if (only === undefined || only.code === TRANSACTIONAL_ID_NOT_FOUND) return undefined;
  const { code, ...transaction } = only;
  refuse(DESCRIBE_TRANSACTIONS, code);
  return transaction;
}

/** Open transactions in partitions of this leader. Topics that this client must not read are left out. */
export function describeProducers(leader: BrokerConnection, topics: readonly TopicPartitions[]): Promise<OpenTransaction[]> {
  return send(leader, {
    ...DESCRIBE_PRODUCERS,
    write: (to) => writePartitions(to, topics),
    read: (from) => {
      from.int32();
      const open = from.array(() => {
        const topic = from.string();
        const inTopic = from.array(() => producersOfPartition(from, topic));
        from.skipTags();
        return inTopic.flat();
      });
      return open.flat();
    },
  });
}

function producersOfPartition(from: WireReader, topic: string): OpenTransaction[] {
  const [partition, code] = [from.int32(), from.int16()];
  from.string();
  const producers = from.array(() => {
    const [producerId, producerEpoch] = [from.int64(), from.int32()];
    from.int32();
    from.int64();
    const coordinatorEpoch = from.int32();
    const isOpen = from.int64() >= 0n;
    from.skipTags();
    return { isOpen, open: { topic, partition, producerId, producerEpoch, coordinatorEpoch } };
  });
  from.skipTags();
  if (code !== TOPIC_AUTHORIZATION_FAILED) refuse(DESCRIBE_PRODUCERS, code);
  return producers.filter(({ isOpen }) => isOpen).map(({ open }) => open);
}

/** Writes the end of a transaction to partitions of this leader. */
export async function writeMarker(leader: BrokerConnection, marker: Marker): Promise<void> {
  const codes = await send(leader, {
    ...WRITE_MARKERS,
    write: (to) =>
      to.array([marker], (one) => {
        to.int64(one.producerId).int16(one.producerEpoch).boolean(one.commit);
        writePartitions(to, one.topics);
        to.int32(one.coordinatorEpoch).noTags();
      }),
    read: (from) =>
      from.array(() => {
        from.int64();
        const ofTopics = from.array(() => {
          from.string();
          const ofPartitions = from.array(() => {
            from.int32();
            const code = from.int16();
            from.skipTags();
            return code;
          });
          from.skipTags();
          return ofPartitions;
        });
        from.skipTags();
        return ofTopics.flat();
      }),
  });
  for (const code of codes.flat()) refuse(WRITE_MARKERS, code);
}

const writePartitions = (to: WireWriter, topics: readonly TopicPartitions[]): WireWriter =>
  to.array(topics, ({ topic, partitions }) => {
    to.string(topic)
      .array(partitions, (partition) => to.int32(partition))
      .noTags();
  });

function refuse({ apiName }: RequestKind, code: number): void {
  if (code !== NONE) throw new RequestFailed(apiName, code);
}
