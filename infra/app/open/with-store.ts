// Opens the store for the duration of a command; starts the embedded one if it is not running.
import type { Logger, Store } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { connectWarehouse } from './connections.ts';
import { withServices } from './services.ts';

export interface WithStore {
  readonly config: Config;
  readonly logger: Logger;
  /** Name of the command, for the message of another command that has to wait. */
  readonly purpose: string;
}

/** Runs `work` with the store. */
export function withStore<T>({ config, logger, purpose }: WithStore, work: (store: Store) => Promise<T>): Promise<T> {
  return withServices({ config, needs: { kafka: false, store: true }, logger, purpose }, async (found) => {
    const store = connectWarehouse(found);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  });
}
