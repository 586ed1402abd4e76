// A connection to the log for as long as a command needs it; the local Kafka is started when it does not run.
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { connectLog, type LogConnection } from './connections.ts';
import { untilServing } from './serving.ts';
import { withServices } from './services.ts';

export interface WithLog {
  readonly config: Config;
  readonly logger: Logger;
  /** The command, for the message of another one that has to wait. */
  readonly purpose: string;
  /** The store as well. */
  readonly store?: boolean;
  /** Leaves the tables of a store that is started as they are. */
  readonly tablesAsTheyAre?: boolean;
}

/** Runs `work` with a connection and the configuration that it was made with. */
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
