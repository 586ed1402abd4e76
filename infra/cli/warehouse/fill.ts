// `turnstream warehouse fill`: the tables as far as the log is now, for who has no sink running.
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

/** True once every record that the log had is stored, by sinks that run or by one of its own; false when the signal was first. */
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
