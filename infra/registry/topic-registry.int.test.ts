import { describe, expect, it, onTestFinished } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { connectKafka } from '../kafka/connect.ts';
import { SCHEMAS_TOPIC, topicPlanOf } from '../kafka/topics/topics.ts';
import { useKafka } from '../testing/kafka.ts';
import { silentLogger } from '../testing/logger.ts';
import { createTopicRegistry } from './topic-registry.ts';

describe('a registry in a Kafka topic', () => {
  it('is the same for every process', async () => {
    const { brokers, namespace } = await useKafka();
    const connect = () => {
      const kafka = connectKafka({ brokers, namespace, clientId: 'registry', codec: createCodec(), logger: silentLogger });
      onTestFinished(() => kafka.close());
      return { kafka, registry: createTopicRegistry({ topic: kafka.raw(SCHEMAS_TOPIC), namespace }) };
    };
    const [first, second] = [connect(), connect()];
    await first.kafka.topics.apply(topicPlanOf({ replication: 1, partitionsRollouts: 1, partitionsTasks: 1, retentionHours: -1 }));
    await Promise.all([first.registry.ensurePublished(), second.registry.ensurePublished()]);
    expect(await first.registry.subjects()).toHaveLength(new Set(publishedSchemas.map(({ name }) => name)).size);
    expect(await first.registry.subjects()).toEqual(await second.registry.subjects());
    const foreign = await first.registry.register('foreign', '{"type":"record","name":"F","fields":[]}');
    expect(await second.registry.byId(foreign.id)).toBe(foreign.schema);
    expect(await second.registry.versions('foreign')).toEqual([foreign]);
  });
});
