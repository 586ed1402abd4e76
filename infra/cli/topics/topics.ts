// Topics for the command line.
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { topicPlanOf, type ExistingTopic, type TopicReport } from '../../kafka/topics/topics.ts';
import { withLog } from '../../app/open/with-log.ts';

/** Creates and changes topics to match the configuration. */
export const applyTopics = (config: Config, logger: Logger): Promise<TopicReport> =>
  withLog({ config, logger, purpose: 'topics apply' }, async ({ kafka, registry }) => {
    const report = await kafka.topics.apply(topicPlanOf(config));
    await registry.ensurePublished();
    return report;
  });

/** Topics of the namespace. */
export const listTopics = (config: Config, logger: Logger): Promise<readonly ExistingTopic[]> =>
  withLog({ config, logger, purpose: 'topics list' }, ({ kafka }) => kafka.topics.list());
