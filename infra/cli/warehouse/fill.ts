// `turnstream warehouse fill`: brings the tables up to date with the log when no sink is running.
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { topicPlanOf } from '../../kafka/topics/topics.ts';
import { connectWarehouse, groupsOf } from '../../app/open/connections.ts';
import { drained } from '../../app/open/drain.ts';
import { prepareStore } from '../../app/open/prepare.ts';
import { storeLog, type StoreLog } from '../../app/open/store-log.ts';
import { withLog } from '../../app/open/with-log.ts';

export interface FillOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly onProgress: StoreLog['onProgress'];
}

/**
 * True once every record that was in the log is stored, by running sinks or by a sink of this command; false when the signal aborts first.
 */
export function fillWarehouse({ config, logger, signal, onProgress }: FillOptions): Promise<boolean> {
  return withLog({ config, logger, purpose: 'warehouse fill', store: true }, async (log, found) => {
    const group = groupsOf(found.namespace).warehouse;
    await log.kafka.topics.apply(topicPlanOf(found));
    if ((await log.kafka.offsets.members(group)) > 0) return drained(log, group, signal);
    await prepareStore(found);
    const store = connectWarehouse(found);
    try {
      await storeLog({ config: found, logger, log, store, group, signal, onProgress });
      return !signal.aborted;
    } finally {
      await store.close();
    }
  });
}
