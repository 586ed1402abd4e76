// Implements the ports of the log on Kafka. Callers use short topic names; the namespace is prepended on the wire. Group ids and
// transactional ids are passed unchanged. Each client is created on first use, and close() ends the open ones.
import type { Codec } from '../../schemas/codec.ts';
import type { Appended, EventWriter, GroupConsumer, Logger, LogReader, TransactionalWriter } from '../../streams/core/ports.ts';
import type { EventTopic } from '../../schemas/generated/events.ts';
import { messageOf } from '../../streams/core/errors.ts';
import type { ReachPoint } from '../../streams/core/crash-points.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import { createSharedAdmin } from './topics/admin.ts';
import type { Compression } from './records/compression.ts';
import {
  createEventWriter,
  createMixedTransactionalWriter,
  createTransactionalEventWriter,
  outgoingRaw,
  type MixedTransactionalWriter,
} from './writing/event-writer.ts';
import { createGroupConsumer } from './reading/group-consumer.ts';
import { createGroupOffsets, type KafkaGroupOffsets } from './reading/group-offsets.ts';
import { createLogReader, type RawLogReader } from './reading/log-reader.ts';
import type { RawRecord } from './records/message.ts';
import { createNames } from './names.ts';
import { createAdminClient, createClient, type KafkaSecurity } from './options.ts';
import type { RecordPlacement } from './writing/producer.ts';
import { RecordWriter } from './writing/record-writer.ts';
import { COMPLETE_RECORD, createRunIndex, type WholeRunIndex } from './writing/run-index.ts';
import { protocolType } from './kafka-error.ts';
import { createSkippedTeller, type OnSkipped } from './reading/skipped.ts';
import { TextReader } from './texts/text-reader.ts';
import { TextWriter } from './texts/text-writer.ts';
import { createTopics, RUNS_TOPIC, TEXTS_TOPIC, type Topics } from './topics/topics.ts';
import { finishTransactions } from './transactions/finish.ts';
import { openTransactionalWriter, type RecordTransactionWriter } from './writing/transactional-writer.ts';

export interface ConnectOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Prefix of every topic, separated by a dot. */
  readonly namespace: string;
  readonly security?: KafkaSecurity;
  readonly codec: Codec;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  /** Called for records that a reader had to skip, unless the read has its own callback. */
  readonly onSkipped?: OnSkipped;
  /** How long an append waits for Kafka to come back, ms. Default: 10 minutes. */
  readonly deliveryTimeoutMs?: number;
  /** Compression of written records. Default: LZ4. */
  readonly compression?: Compression;
  /** Maximum total bytes of the texts that turns share (text-writer.ts); 0, the default, writes every turn whole. */
  readonly sharedTextBytes?: number;
  /** False leaves the shared texts out of turns, for readers that need none. Default: true. */
  readonly wholeTurns?: boolean;
  /** Session timeout of group members, ms. Default: 6 s. */
  readonly sessionTimeoutMs?: number;
}

/** A topic whose records are not events, by its short name. */
interface RawTopic {
  append(records: readonly RawRecord[]): Promise<readonly { readonly partition: number; readonly offset: number }[]>;
  /** First and end offset of each partition. */
  bounds(): ReturnType<LogReader['bounds']>;
  readToEnd(options: Parameters<LogReader['readToEnd']>[1]): Promise<void>;
}

export interface KafkaConnection {
  /** A writer that shares one producer with the other writers of this connection. */
  writer(): Promise<EventWriter>;
  /** Opens the only writer with this transactional id and fences earlier ones. */
  transactional(transactionalId: string, reach?: ReachPoint): Promise<TransactionalWriter>;
  /** The same, for raw records next to events. */
  transactionalMixed(transactionalId: string): Promise<MixedTransactionalWriter>;
  /** With `textsApart`, tool results that turns share are not in the values but beside them, which saves copies of long texts. */
  reader(how?: { readonly textsApart?: boolean }): LogReader;
  /** Each call creates another member. */
  group(): GroupConsumer;
  readonly offsets: KafkaGroupOffsets;
  readonly topics: Topics;
  /** Where each run begins. */
  readonly runs: WholeRunIndex;
  /** Appends records with exactly these bytes. */
  appendRaw(topic: EventTopic, records: readonly RawRecord[]): Promise<readonly Appended[]>;
  raw(topic: string): RawTopic;
  /** Records between the committed offsets of a group and the ends of a topic, by partition. */
  lag: KafkaGroupOffsets['lag'];
  /** Commits for a group without members. */
  setOffsets: KafkaGroupOffsets['set'];
  /** Sends one metadata request; throws KAFKA_UNAVAILABLE when no broker answers. */
  ping(): Promise<void>;
  /** The cluster id of the brokers, constant for the lifetime of their data. */
  clusterId(): Promise<string>;
  /** Closes writers after their pending records are sent, readers and members after their handlers have ended. */
  close(): Promise<void>;
}

/** Does not wait for a broker: later calls that need one wait, or throw KAFKA_UNAVAILABLE. */
export function connectKafka(options: ConnectOptions): KafkaConnection {
  const kafka = createClient(options);
  const names = createNames(options.namespace);
  const admin = createSharedAdmin(createAdminClient(options));
  const common = { kafka, names, admin, logger: options.logger };
  const context = { codec: options.codec, namespace: options.namespace, names };
  const records = new RecordWriter({ ...options, kafka });
  const closing = new AbortController();
  const tellSkipped = createSkippedTeller(options);
  const texts = options.wholeTurns === false ? undefined : createTextReader(options, () => log);
  const reading = { ...common, closing: closing.signal, tellSkipped, texts };
  const log = createLogReader(reading);
  const offsets = createGroupOffsets({ ...common, bounds: log.rawBounds });
  const closers = createClosers();
  const appendRaw = (topic: string, raw: readonly RawRecord[]): Promise<readonly RecordPlacement[]> =>
    records.append(raw.map((record) => outgoingRaw(names.full(topic), record)));
  const raw = (topic: string): RawTopic => ({
    append: (records) => appendRaw(topic, records),
    bounds: () => log.rawBounds(topic),
    readToEnd: (read) => log.readRawToEnd(topic, read),
  });
  const runs = createRunIndex({ topic: raw(RUNS_TOPIC), log });
  const { sharedTextBytes = 0, logger } = options;
  const textWriter = sharedTextBytes === 0 ? undefined : new TextWriter({ topic: raw(TEXTS_TOPIC), maxBytes: sharedTextBytes, logger });

  const openWriter = async (transactionalId: string, reach?: ReachPoint): Promise<RecordTransactionWriter> => {
    await finishTransactions({ kafka, logger, transactionalIds: [transactionalId], prefix: names.full('') });
    return openTransactionalWriter({ ...options, kafka, transactionalId, ...(reach === undefined ? {} : { reach }) });
  };

  return {
    writer: async () => createEventWriter(records, context, textWriter),
    transactional: async (transactionalId, reach) =>
      closers.track(createTransactionalEventWriter(await openWriter(transactionalId, reach), context)),
    transactionalMixed: async (transactionalId) =>
      closers.track(createMixedTransactionalWriter(await openWriter(transactionalId), context)),
    reader: ({ textsApart = false } = {}) => tracked(textsApart ? createLogReader({ ...reading, textsApart }) : log, closers),
    group: () => closers.track(createGroupConsumer({ ...options, ...common, offsets, bounds: log.rawBounds, tellSkipped, texts })),
    offsets,
    runs,
    topics: withIndex(createTopics(admin, names), raw(RUNS_TOPIC)),
    appendRaw: async (topic, raw) => (await appendRaw(topic, raw)).map((place) => ({ topic, ...place })),
    raw,
    lag: (group, topic) => offsets.lag(group, topic),
    setOffsets: (group, positions) => offsets.set(group, positions),
    async ping() {
      await admin.use('asking Kafka whether it is there', (client) => client.describeCluster());
    },
    clusterId: () => admin.use('asking Kafka for the id of its cluster', async (client) => (await client.describeCluster()).clusterId),
    async close() {
      closing.abort();
      const failed = await closers.closeAll();
      await texts?.close();
      await records.close();
      await admin.close();
      if (failed.length > 0) throw new AggregateError(failed, 'closing the connection to Kafka');
    },
  };
}

function createTextReader({ logger, metrics }: ConnectOptions, log: () => RawLogReader): TextReader {
  // The records of this topic are not events, but are read in the same way.
  const topics = [TEXTS_TOPIC as EventTopic];
  return new TextReader({
    ...{ logger, metrics },
    follow: (onBatch) =>
      log().follow({
        ...{ topics, from: [], otherwise: 'first', onBatch },
        onError: (error) => {
          logger.debug({ error: messageOf(error) }, 'following the topic of texts failed, trying again');
        },
      }),
    bounds: () =>
      log()
        .rawBounds(TEXTS_TOPIC)
        .catch((error: unknown) => {
          if (protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return [];
          throw error;
        }),
  });
}

/** An index of runs that is created together with the topics is complete. */
const withIndex = (topics: Topics, index: RawTopic): Topics => ({
  ...topics,
  async apply(plan) {
    const report = await topics.apply(plan);
    if (report.created.includes('training') && report.created.includes(RUNS_TOPIC)) await index.append([COMPLETE_RECORD]);
    return report;
  },
});

/** Tracks open resources until they are closed. */
function createClosers() {
  const open = new Set<() => Promise<void>>();
  return {
    track<T extends { close(): Promise<void> }>(resource: T): T {
      const close = async (): Promise<void> => {
        open.delete(close);
        await resource.close();
      };
      open.add(close);
      return { ...resource, close };
    },
    /** Returns the errors of resources that could not be closed. */
    async closeAll(): Promise<unknown[]> {
      const results = await Promise.allSettled([...open].map((close) => close()));
      return results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    },
  };
}

/** A reader whose followers are closed with the connection. */
function tracked(log: RawLogReader, closers: ReturnType<typeof createClosers>): LogReader {
  return {
    bounds: (topic) => log.bounds(topic),
    readToEnd: (topic, read) => log.readToEnd(topic, read),
    follow: async (follow) => closers.track(await log.follow(follow)),
  };
}
