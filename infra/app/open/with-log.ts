// Opens a connection to the log for the duration of a command; starts the local Kafka if it is not running.
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { connectLog, type LogConnection } from './connections.ts';
import { untilServing } from './serving.ts';
import { withServices } from './services.ts';

export interface WithLog {
  readonly config: Config;
  readonly logger: Logger;
  /** Name of the command, for the message of another command that has to wait. */
  readonly purpose: string;
  /** Also opens the store. */
  readonly store?: boolean;
  /** Does not migrate the tables of a store that is started. */
  readonly tablesAsTheyAre?: boolean;
}

/** Runs `work` with a connection and the configuration that it uses. */
export function withLog<T>(options: WithLog, work: (log: LogConnection, config: Config) => Promise<T>): Promise<T> {
  const { config, logger, purpose, tablesAsTheyAre = false } = options;
  const needs = { kafka: true, store: options.store === true };
  return withServices({ config, logger, purpose, needs, tablesAsTheyAre }, async (found) => {
    const log = await connectLog({ config: found, clientId: 'command', logger });
    try {
      await untilServing(log, found.namespace);
      return await work(log, found);
    } finally {
      await log.close();
    }
  });
}
