import { createCodec } from '../../schemas/codec.ts';
import { logContract } from '../testing/log/log.contract.ts';
import { useKafka } from '../testing/kafka.ts';
import { silentLogger } from '../testing/logger.ts';
import { connectKafka } from './connect.ts';
import { topicPlanOf } from './topics/topics.ts';

logContract('kafka', async () => {
  const { brokers, namespace } = await useKafka();
  const kafka = connectKafka({ brokers, namespace, clientId: 'contract', codec: createCodec(), logger: silentLogger });
  await kafka.topics.apply(topicPlanOf({ replication: 1, partitionsRollouts: 4, partitionsTasks: 8, retentionHours: -1 }));
  return { ...kafka, groupName: (name) => `${namespace}.${name}` };
});
