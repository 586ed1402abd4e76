// Shared by the tests of edge cases of the log: a broker, our connection, and a third-party client.
import type { Kafka } from 'kafkajs';
import { afterAll, beforeAll } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import type { LogBatch } from '../../../streams/core/ports.ts';
import { useKafka, type TestKafka } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { connectKafka, type KafkaConnection } from '../connect.ts';
import { kafkajs } from '../patches/kafkajs.ts';
import { topicPlanOf } from '../topics/topics.ts';

const settings = { replication: 1, partitionsRollouts: 4, partitionsTasks: 2, retentionHours: -1 };

export let server: TestKafka;

export let kafka: KafkaConnection;

/** Plain kafkajs, for actions that our adapter never takes. */
export let foreign: Kafka;

beforeAll(async () => {
  server = await useKafka();
  kafka = connectKafka({ ...server, clientId: 'edges', codec: createCodec(), logger: silentLogger, sessionTimeoutMs: 3_000 });
  await kafka.topics.apply(topicPlanOf(settings));
  foreign = new kafkajs.Kafka({ brokers: server.brokers, clientId: 'foreign', logLevel: kafkajs.logLevel.NOTHING });
});

afterAll(() => kafka.close());

export const full = (topic: string): string => `${server.namespace}.${topic}`;

export const values = (batches: readonly LogBatch[]): string[] =>
  batches.flatMap(({ records }) => records.map(({ value }) => value?.toString() ?? ''));
