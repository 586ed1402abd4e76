// Keeps the topics of the coordinators small. A broker reads a partition of them whole before it answers for the groups and transactions in
// it, and Kafka compacts only segments that are closed. With Kafka's default of 100 MB a segment, a run of hours leaves tens of megabytes
// to read at each start. Kafka 4.3 may then begin to load such a partition a second time before the first load has ended, find its own
// state "out of sync with the underlying log", and load it again without end.
import { messageOf } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { kafkajs } from '../patches/kafkajs.ts';

/** The least that Kafka accepts, in bytes. */
export const INTERNAL_SEGMENT_BYTES = 1_048_576;

const INTERNAL_TOPICS = ['__consumer_offsets', '__transaction_state'];
const SETTING = 'segment.bytes';

/** Marks a value that is set on the topic itself. */
const SET_ON_TOPIC = 1;

/** Sets the segment size of internal topics that an earlier build created; new ones get it from the configuration of the broker. */
export async function keepInternalTopicsSmall(brokers: readonly string[], logger: Logger): Promise<void> {
  const kafka = new kafkajs.Kafka({ clientId: 'turnstream-setup', brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
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
