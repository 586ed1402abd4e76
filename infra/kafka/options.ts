// Client options: security from the configuration, and timeouts and retries for each kind of client.
import { readFileSync } from 'node:fs';
import type { Kafka, KafkaConfig, LogEntry, RetryOptions } from 'kafkajs';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import type { Logger } from '../../streams/core/ports.ts';
import type { Config } from '../config/descriptors.ts';
import type { Compression } from './records/compression.ts';
import { plainSocket } from './patches/connection.ts';
import { kafkajs } from './patches/kafkajs.ts';
import { withTrueEnds } from './patches/true-ends.ts';

export interface KafkaSecurity {
  readonly tls: boolean;
  /** PEM text of the certificate authority that signed the brokers' certificates. Default: the system's authorities. */
  readonly ca?: string;
  readonly sasl?: { readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; readonly username: string; readonly password: string };
}

export interface KafkaAddress {
  readonly brokers: readonly string[];
  readonly namespace: string;
  readonly security: KafkaSecurity;
  readonly compression: Compression;
  readonly sharedTextBytes: number;
}

type KafkaSettings = Pick<
  Config,
  | 'kafkaBrokers'
  | 'namespace'
  | 'kafkaTls'
  | 'kafkaCaFile'
  | 'kafkaSaslMechanism'
  | 'kafkaSaslUsername'
  | 'kafkaSaslPassword'
  | 'kafkaCompression'
  | 'sharedTextsMb'
>;

/** Addresses and security from the configuration; `brokers` are those of the local Kafka when none are configured. */
export function kafkaOptionsOf(config: KafkaSettings, brokers: readonly string[] = config.kafkaBrokers): KafkaAddress {
  return {
    brokers,
    namespace: config.namespace,
    security: securityOf(config),
    compression: config.kafkaCompression,
    sharedTextBytes: config.sharedTextsMb * 1_000_000,
  };
}

function securityOf(config: KafkaSettings): KafkaSecurity {
  const ca = config.kafkaCaFile === '' ? {} : { ca: readCa(config.kafkaCaFile) };
  const mechanism = config.kafkaSaslMechanism;
  if (mechanism === 'none') return { tls: config.kafkaTls, ...ca };
  return { tls: config.kafkaTls, ...ca, sasl: { mechanism, username: config.kafkaSaslUsername, password: config.kafkaSaslPassword } };
}

function readCa(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new PlatformError('CONFIG_INVALID', `reading TURNSTREAM_KAFKA_CA_FILE: ${messageOf(cause)}`, { cause });
  }
}

/** About 12 s with the same producer id, so that the broker still recognizes duplicates. */
export const writeRetry: RetryOptions = { initialRetryTime: 50, multiplier: 2, factor: 0.2, maxRetryTime: 1_000, retries: 15 };

/** After the first CONCURRENT_TRANSACTIONS, a transaction waits for one whole initial delay. With 5 ms, it still takes less than 10 ms. */
export const transactionRetry: RetryOptions = { initialRetryTime: 5, multiplier: 2, factor: 0.2, maxRetryTime: 500, retries: 14 };

/** Short: the loop around a consumer waits out long outages, not the consumer. */
const readRetry: RetryOptions = { initialRetryTime: 50, multiplier: 2, factor: 0.2, maxRetryTime: 1_000, retries: 6 };

export interface KafkaClientOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly security?: KafkaSecurity;
  readonly logger: Logger;
}

export function createClient(options: KafkaClientOptions): Kafka {
  const { security } = options;
  const config: KafkaConfig = {
    clientId: options.clientId,
    brokers: [...options.brokers],
    connectionTimeout: 5_000,
    authenticationTimeout: 10_000,
    requestTimeout: 20_000,
    retry: readRetry,
    logLevel: kafkajs.logLevel.WARN,
    logCreator: () => bridge(options.logger),
  };
  if (security?.tls !== true) config.socketFactory = plainSocket;
  else config.ssl = security.ca === undefined ? true : { ca: [security.ca] };
  const sasl = security?.sasl;
  if (sasl?.mechanism === 'plain') config.sasl = { ...sasl, mechanism: 'plain' };
  else if (sasl?.mechanism === 'scram-sha-256') config.sasl = { ...sasl, mechanism: 'scram-sha-256' };
  else if (sasl !== undefined) config.sasl = { ...sasl, mechanism: 'scram-sha-512' };
  return new kafkajs.Kafka(config);
}

/** Most of what kafkajs logs as an error is a retry. Real errors reach our callers, so these are logged at debug level. */
function bridge(logger: Logger): (entry: LogEntry) => void {
  return ({ namespace, log }) => {
    const { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...fields } = log;
    logger.debug({ kafkajs: namespace, ...fields }, message);
  };
}

/** A client whose admin lists the true end of a partition. */
export const createAdminClient = (options: KafkaClientOptions): Kafka => withTrueEnds(createClient(options));
