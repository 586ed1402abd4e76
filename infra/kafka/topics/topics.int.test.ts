import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import { randomNamespace, useKafka } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { connectKafka, type KafkaConnection } from '../connect.ts';
import { kafkajs } from '../patches/kafkajs.ts';
import { topicPlanOf } from './topics.ts';

const settings = { replication: 1, partitionsRollouts: 4, partitionsTasks: 8, retentionHours: -1 };
const all = ['questions', 'tasks', 'rollouts', 'training', 'policies', 'evaluations', 'dead-letters', 'schemas', 'runs', 'texts'];
let brokers: string[];

beforeAll(async () => {
  brokers = (await useKafka()).brokers;
});

function connect(namespace: string): KafkaConnection {
  const kafka = connectKafka({ brokers, namespace, clientId: 'topics', codec: createCodec(), logger: silentLogger });
  onTestFinished(() => kafka.close());
  return kafka;
}

describe('topics', () => {
  it('are created once, and left unchanged when they are applied again', async () => {
    const kafka = connect(randomNamespace());
    expect(await kafka.topics.list()).toEqual([]);
    const first = await kafka.topics.apply(topicPlanOf(settings));
    expect(first).toEqual({ created: all, grown: [], reconfigured: [], unchanged: [] });
    expect(await kafka.topics.apply(topicPlanOf(settings))).toEqual({ created: [], grown: [], reconfigured: [], unchanged: all });
    expect(await kafka.topics.list()).toContainEqual({ topic: 'tasks', partitions: 8 });
  });

  it('may be applied by several processes at once', async () => {
    const namespace = randomNamespace();
    const reports = await Promise.all([1, 2, 3].map(() => connect(namespace).topics.apply(topicPlanOf(settings))));
    expect(reports.flatMap(({ created }) => created).sort()).toEqual([...all].sort());
  });

  it('get more partitions when more are configured, and never fewer', async () => {
    const kafka = connect(randomNamespace());
    await kafka.topics.apply(topicPlanOf(settings));
    const report = await kafka.topics.apply(topicPlanOf({ ...settings, partitionsRollouts: 6 }));
    expect(report.grown).toEqual([{ topic: 'rollouts', from: 4, to: 6 }]);
    await expect.poll(async () => (await kafka.reader().bounds('rollouts')).length).toBe(6);
    await expect(kafka.topics.apply(topicPlanOf({ ...settings, partitionsTasks: 2 }))).rejects.toMatchObject({
      code: 'TOPIC_MISMATCH',
      message: expect.stringMatching(/rollouts has 6 partitions, 4 are configured; tasks has 8|tasks has 8.*; rollouts has 6/) as string,
    });
  });

  it('are not applied when a topic that must have one partition has two; the error names the topic', async () => {
    const namespace = randomNamespace();
    const admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
    await admin.connect();
    onTestFinished(() => admin.disconnect());
    await admin.createTopics({
      waitForLeaders: true,
      topics: [{ topic: `${namespace}.training`, numPartitions: 2, replicationFactor: 1 }],
    });
    await expect(connect(namespace).topics.apply(topicPlanOf(settings))).rejects.toMatchObject({
      code: 'TOPIC_MISMATCH',
      message: expect.stringContaining('training has 2 partitions and must have exactly 1') as string,
    });
  });

  it('get a newly configured retention, and keep other settings', async () => {
    const namespace = randomNamespace();
    const kafka = connect(namespace);
    await kafka.topics.apply(topicPlanOf(settings));
    const admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
    await admin.connect();
    onTestFinished(() => admin.disconnect());
    const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: `${namespace}.rollouts` };
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ ...resource, configEntries: [{ name: 'segment.bytes', value: '104857600' }] }],
    });
    const configured = async (): Promise<Record<string, string>> => {
      const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
      return Object.fromEntries(resources[0]!.configEntries.map(({ configName, configValue }) => [configName, configValue]));
    };
    await expect.poll(configured).toMatchObject({ 'segment.bytes': '104857600' });
    const report = await kafka.topics.apply(topicPlanOf({ ...settings, retentionHours: 24 }));
    expect(report.reconfigured).toEqual(['tasks', 'rollouts', 'dead-letters']);
    await expect
      .poll(configured)
      .toMatchObject({ 'retention.ms': '86400000', 'segment.bytes': '104857600', 'max.message.bytes': '8388608' });
  });

  it('are refused with the reason that the cluster gives', async () => {
    const kafka = connect(randomNamespace());
    const plan = topicPlanOf({ ...settings, replication: 3 });
    await expect(kafka.topics.apply(plan)).rejects.toMatchObject({
      message: expect.stringMatching(/making topics: .*replication/i) as string,
    });
  });
});
