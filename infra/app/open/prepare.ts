// Creates what roles need in the log and the store. All of it is safe to repeat and to run in several processes.
import type { Logger } from '../../../streams/core/ports.ts';
import { migrate, type AppliedMigration } from '../../clickhouse/migrate.ts';
import type { Config } from '../../config/descriptors.ts';
import { topicPlanOf } from '../../kafka/topics/topics.ts';
import { connectLog, connectWarehouse } from './connections.ts';
import { ensureQuestions, noQuestionsOf } from './questions.ts';
import { untilServing } from './serving.ts';

/** Which questions a run needs. */
interface QuestionNeeds {
  /** True to train on the configured set. */
  readonly questions: boolean;
  /** True to evaluate on its held-out questions: a set without any is an error before a run trains for hours. */
  readonly heldout?: boolean;
}

/** Creates topics and schemas and, unless nothing is to be trained, the configured question set. */
export async function prepareLog(
  config: Config,
  logger: Logger,
  { questions, heldout = false }: QuestionNeeds = { questions: true },
): Promise<void> {
  const connection = await connectLog({ config, clientId: 'prepare', logger });
  const { kafka, events, registry } = connection;
  try {
    await untilServing(connection, config.namespace);
    await kafka.topics.apply(topicPlanOf(config));
    const source = { log: kafka.reader(), events };
    const writer = () => kafka.writer();
    const ensure = questions ? ensureQuestions(source, writer, config.dataset) : undefined;
    const [splits] = await Promise.all([ensure, registry.ensurePublished()]);
    if (heldout && splits?.includes('heldout') === false) throw noQuestionsOf(config.dataset, 'heldout');
    logger.info(splits === undefined ? {} : { dataset: config.dataset, questions: splits.length }, 'the log is prepared');
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
