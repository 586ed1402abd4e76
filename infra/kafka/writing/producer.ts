// One kafkajs producer that also returns the offset of each record. Sends are sequential: with two in flight, a failed one rolls back its
// sequence numbers, and the broker would silently drop the other one as a duplicate.
import type { CompressionTypes, Kafka, Message as KafkaMessage, Producer, RecordMetadata, TopicMessages, Transaction } from 'kafkajs';
import type { Compression } from '../records/compression.ts';
import { kafkajs } from '../patches/kafkajs.ts';
import { transactionRetry, writeRetry } from '../options.ts';
import type { HeaderValues } from '../records/message.ts';

/** A record to send, with the full name of its topic. */
export interface Outgoing {
  readonly topic: string;
  readonly key: string | Buffer | null;
  readonly value: Buffer | null;
  readonly headers: HeaderValues;
  readonly partition?: number;
  readonly bytes: number;
}

export interface RecordPlacement {
  readonly partition: number;
  readonly offset: number;
}

/** Maximum bytes of one send, so that a batch fits topics with the default limit of 1 MB; a larger record is sent alone. */
export const SEND_BYTES = 900_000;

/** The message that kafkajs works on; the partitioner stores its partition here. */
interface Tracked extends KafkaMessage {
  target: number;
}

export interface RecordProducer {
  connect(): Promise<void>;
  /** Sends records in one request per broker; returns one result per record, in order. */
  send(records: readonly Outgoing[]): Promise<readonly RecordPlacement[]>;
  begin(): Promise<RecordTransaction>;
  disconnect(): Promise<void>;
}

export interface RecordTransaction {
  send(records: readonly Outgoing[]): Promise<readonly RecordPlacement[]>;
  sendOffsets: Transaction['sendOffsets'];
  commit(): Promise<void>;
  abort(): Promise<void>;
}

export interface ProducerOptions {
  /** Default: LZ4. */
  readonly compression?: Compression | undefined;
  readonly transaction?: { readonly id: string; readonly timeoutMs: number };
}

/** Idempotent; transactional when it has an id. */
export function createRecordProducer(kafka: Kafka, { compression = 'lz4', transaction }: ProducerOptions = {}): RecordProducer {
  const common = { idempotent: true, allowAutoTopicCreation: false, metadataMaxAge: 60_000, createPartitioner: trackingPartitioner };
  const producer: Producer = kafka.producer(
    transaction === undefined
      ? { ...common, retry: writeRetry }
      : {
          ...common,
          retry: transactionRetry,
          transactionalId: transaction.id,
          transactionTimeout: transaction.timeoutMs,
          maxInFlightRequests: 1,
        },
  );
  return {
    connect: () => producer.connect(),
    send: (records) => sendAll(producer, records, compression),
    async begin() {
      const open = await producer.transaction();
      return {
        send: (records) => sendAll(open, records, compression),
        sendOffsets: (offsets) => open.sendOffsets(offsets),
        commit: () => open.commit(),
        abort: () => open.abort(),
      };
    },
    disconnect: () => producer.disconnect(),
  };
}

/** Kafka's default partitioner (murmur2 of the key), which also stores its choice. */
function trackingPartitioner() {
  const select = kafkajs.Partitioners.DefaultPartitioner();
  return (args: Parameters<typeof select>[0]): number => {
    const partition = args.message.partition ?? select(args);
    (args.message as Tracked).target = partition;
    return partition;
  };
}

/** Batches of fewer bytes hardly compress. */
const WORTH_COMPRESSING = 512;

const codecs = { none: 'None', gzip: 'GZIP', lz4: 'LZ4' } as const;

function codecFor(records: readonly Outgoing[], compression: Compression): CompressionTypes {
  const bytes = records.reduce((sum, record) => sum + record.bytes, 0);
  return kafkajs.CompressionTypes[bytes < WORTH_COMPRESSING ? 'None' : codecs[compression]];
}

async function sendAll(
  sender: Pick<Producer, 'sendBatch'>,
  records: readonly Outgoing[],
  compression: Compression,
): Promise<readonly RecordPlacement[]> {
  const byTopic = new Map<string, Tracked[]>();
  const tracked = records.map((record) => {
    const message: Tracked = { key: record.key, value: record.value, headers: record.headers, target: -1 };
    if (record.partition !== undefined) message.partition = record.partition;
    const topic = byTopic.get(record.topic);
    if (topic === undefined) byTopic.set(record.topic, [message]);
    else topic.push(message);
    return message;
  });
  const topicMessages: TopicMessages[] = [...byTopic].map(([topic, messages]) => ({ topic, messages }));
  const answers = await sender.sendBatch({ acks: -1, compression: codecFor(records, compression), topicMessages });
  return placesOf(records, tracked, answers);
}

/** Offset of a record = base offset of its partition + its index among the records of that partition. */
function placesOf(
  records: readonly Outgoing[],
  tracked: readonly Tracked[],
  answers: readonly RecordMetadata[],
): readonly RecordPlacement[] {
  const nextOffset = new Map<string, number>();
  for (const { topicName, partition, baseOffset } of answers) nextOffset.set(`${topicName}/${partition}`, Number(baseOffset));
  return records.map((record, index) => {
    const partition = tracked[index]?.target ?? -1;
    const at = `${record.topic}/${partition}`;
    const offset = nextOffset.get(at);
    if (offset === undefined) throw new RangeError(`the broker did not answer for ${at}`);
    nextOffset.set(at, offset + 1);
    return { partition, offset };
  });
}

/** Splits records into sends of at most SEND_BYTES, in order. */
export function chunksOf(records: readonly Outgoing[]): Outgoing[][] {
  const chunks: Outgoing[][] = [];
  let room = 0;
  for (const record of records) {
    const current = chunks.at(-1);
    if (current === undefined || record.bytes > room) {
      chunks.push([record]);
      room = SEND_BYTES - record.bytes;
    } else {
      current.push(record);
      room -= record.bytes;
    }
  }
  return chunks;
}
