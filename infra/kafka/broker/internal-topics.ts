// Keeps the topics of Kafka's group and transaction coordinators small. A broker reads each of their partitions completely before it serves
// the groups and transactions in it, and Kafka compacts only closed segments. With Kafka's default segment size of 100 MB, a run of several
// hours leaves tens of megabytes to read at each start. Kafka 4.3 may then start a second load of such a partition before the first one has
// ended, find its state "out of sync with the underlying log", and reload it forever.
import type { Kafka } from 'kafkajs';
import { messageOf } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { kafkajs } from '../patches/kafkajs.ts';

/** The minimum that Kafka accepts, in bytes. */
export const INTERNAL_SEGMENT_BYTES = 1_048_576;

const INTERNAL_TOPICS = ['__consumer_offsets', '__transaction_state'];
const SETTING = 'segment.bytes';

/** Marks a value that is set on the topic itself. */
const SET_ON_TOPIC = 1;

/** For requests at the start of a local broker. */
export const setupClient = (brokers: readonly string[]): Kafka =>
  new kafkajs.Kafka({ clientId: 'turnstream-setup', brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING });

/** Sets the segment size of internal topics that an earlier build created; new ones get it from the configuration of the broker. */
export async function keepInternalTopicsSmall(brokers: readonly string[], logger: Logger): Promise<void> {
  const admin = setupClient(brokers).admin();
  try {
    await admin.connect();
    const existing = await admin.listTopics();
    const topics = INTERNAL_TOPICS.filter((topic) => existing.includes(topic));
    if (topics.length === 0) return;
    const type = kafkajs.ConfigResourceTypes.TOPIC;
    const described = await admin.describeConfigs({ includeSynonyms: false, resources: topics.map((name) => ({ type, name })) });
    const resources = described.resources.flatMap(({ resourceName, configEntries }) => {
      const set = configEntries.filter(({ configSource }) => (configSource as number) === SET_ON_TOPIC);
      const entries = new Map(set.map(({ configName, configValue }) => [configName, configValue]));
      if (entries.get(SETTING) === String(INTERNAL_SEGMENT_BYTES)) return [];
      entries.set(SETTING, String(INTERNAL_SEGMENT_BYTES));
      return [{ type, name: resourceName, configEntries: Array.from(entries, ([name, value]) => ({ name, value })) }];
    });
    if (resources.length > 0) await admin.alterConfigs({ validateOnly: false, resources });
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, 'the segment size of the internal topics of the local Kafka could not be set');
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
