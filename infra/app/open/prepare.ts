// Creates what roles need in the log and the store. All of it is safe to repeat and to run in several processes.
import type { Logger } from '../../../streams/core/ports.ts';
import { migrate, type AppliedMigration } from '../../clickhouse/migrate.ts';
import type { Config } from '../../config/descriptors.ts';
import { topicPlanOf } from '../../kafka/topics/topics.ts';
import { connectLog, connectWarehouse } from './connections.ts';
import { ensureQuestions } from './questions.ts';
import { untilServing } from './serving.ts';

/** Creates topics and schemas and, unless nothing is to be trained, the configured question set. */
export async function prepareLog(config: Config, logger: Logger, { questions } = { questions: true }): Promise<void> {
  const connection = await connectLog({ config, clientId: 'prepare', logger });
  const { kafka, events, registry } = connection;
  try {
    await untilServing(connection, config.namespace);
    await kafka.topics.apply(topicPlanOf(config));
    const source = { log: kafka.reader(), events };
    const writer = () => kafka.writer();
    const ensure = questions ? ensureQuestions(source, writer, config.dataset) : undefined;
    const [count] = await Promise.all([ensure, registry.ensurePublished()]);
    logger.info(count === undefined ? {} : { dataset: config.dataset, questions: count }, 'the log is prepared');
  } finally {
    await connection.close();
  }
}

/** Creates the database, tables and views. */
export async function prepareStore(config: Config): Promise<readonly AppliedMigration[]> {
  const store = connectWarehouse(config);
  try {
    return await migrate(store);
  } finally {
    await store.close();
  }
}
