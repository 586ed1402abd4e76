// A connection to the log with its codec and schema registry.
import { createCodec, type Codec, type CodecOptions } from '../../../schemas/codec.ts';
import type { EventDecoder, EventReader, Logger, SchemaRegistry, SkippedRange } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import { connectStore, type ClickHouseStore } from '../../clickhouse/client.ts';
import { passwordForUrl } from '../../clickhouse/store/password.ts';
import type { Config } from '../../config/descriptors.ts';
import { connectKafka, type KafkaConnection } from '../../kafka/connect.ts';
import { kafkaOptionsOf } from '../../kafka/options.ts';
import { SCHEMAS_TOPIC } from '../../kafka/topics/topics.ts';
import { createConfluentRegistry } from '../../registry/confluent-registry.ts';
import { createEventReader } from '../../registry/event-reader.ts';
import { createTopicRegistry } from '../../registry/topic-registry.ts';

export interface LogConnection {
  readonly kafka: KafkaConnection;
  readonly codec: Codec;
  readonly events: EventReader;
  /** A reader that decodes only some fields of some types, or decodes some types lazily. */
  readonly eventsThrough: (how: Pick<CodecOptions, 'view' | 'late'>) => EventDecoder;
  readonly registry: SchemaRegistry;
  /** Closes the connection and the registry. */
  close(): Promise<void>;
}

export interface LogOptions {
  readonly config: Config;
  /** Role and number, as shown to the brokers. */
  readonly clientId: string;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  /** Called for records that a reader had to skip. */
  readonly onSkipped?: (skipped: SkippedRange) => void;
  /** False for a reader of turns that does not need their texts. */
  readonly wholeTurns?: boolean;
}

/** Connects to the log. With Confluent's registry, schema ids are requested first; with ours, they follow from the schemas. */
export async function connectLog(options: LogOptions): Promise<LogConnection> {
  const { config, clientId, logger, metrics, onSkipped, wholeTurns = true } = options;
  const confluent =
    config.schemaRegistryUrl === ''
      ? undefined
      : createConfluentRegistry({ url: config.schemaRegistryUrl, namespace: config.namespace, logger });
  await confluent?.ensurePublished();
  const ids = confluent === undefined ? {} : { idOf: (schema: string) => confluent.idOf(schema) };
  const codec = createCodec(ids);
  const kafka = connectKafka({
    ...kafkaOptionsOf(config),
    clientId: `turnstream-${clientId}`,
    codec,
    logger,
    sessionTimeoutMs: config.kafkaSessionMs,
    wholeTurns,
    ...(metrics === undefined ? {} : { metrics }),
    ...(onSkipped === undefined ? {} : { onSkipped }),
  });
  const registry = confluent ?? createTopicRegistry({ topic: kafka.raw(SCHEMAS_TOPIC), namespace: config.namespace });
  return {
    kafka,
    codec,
    registry,
    events: createEventReader(codec, registry),
    eventsThrough: (how) => createEventReader(createCodec({ ...ids, ...how }), registry),
    async close() {
      await registry.close();
      await kafka.close();
    },
  };
}

/**
 * The configured ClickHouse; `name` identifies the client to it. Sends no request yet. Without a configured password, the embedded store of
 * this data directory gets its generated one.
 */
export function connectWarehouse(config: Config, name = 'command'): ClickHouseStore {
  const { clickhouseUrl: url, clickhouseDatabase: database, clickhouseUser: user } = config;
  const password = clickhousePasswordOf(config, url);
  return connectStore({ url, database, user, password, application: `turnstream-${name}` });
}

/** The configured password, or the generated one of the embedded store in this data directory if it listens at `url`. */
export const clickhousePasswordOf = (config: Config, url: string): string =>
  config.clickhousePassword === '' ? (passwordForUrl(config.dataDir, url) ?? '') : config.clickhousePassword;

/** Consumer groups of a namespace. */
export const groupsOf = (namespace: string) =>
  ({
    warehouse: `${namespace}.warehouse`,
    /** Of the run, or of the own workers of an evaluation. */
    workers: (run: string, addressee = '') => [namespace, 'workers', run, ...(addressee === '' ? [] : [addressee])].join('.'),
    trainer: (run: string) => `${namespace}.trainer.${run}`,
  }) as const;
