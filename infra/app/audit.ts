// The audit for the command line. A sink that runs is given time to store what is in the log when the audit begins; it
// may go on meanwhile. When none runs, what it has not stored yet is reported and is no failure: the next sink stores it.
import { audit, type AuditResult } from '../../consumers/warehouse/audit.ts';
import type { Logger } from '../../streams/core/ports.ts';
import type { Config } from '../config/descriptors.ts';
import { connectWarehouse, groupsOf } from './connections.ts';
import { drained } from './drain.ts';
import { withKnownAddresses } from './addresses.ts';
import { withLog } from './with-log.ts';
import { systemClock } from '../lifecycle/clock.ts';

/** Compares everything that the log has with the tables. */
export function runAudit(
  config: Config,
  options: { readonly waitMs: number; readonly differences: number; readonly logger: Logger },
): Promise<AuditResult> {
  const sinkMayRun = withKnownAddresses(config).clickhouseUrl !== '';
  return withLog({ config, logger: options.logger, purpose: 'audit', store: true }, async (log, found) => {
    const { kafka, events } = log;
    const store = connectWarehouse(found);
    const { warehouse: group } = groupsOf(found.namespace);
    try {
      const stored = !sinkMayRun || (await drained(log, group, AbortSignal.timeout(options.waitMs)));
      const result = await audit({
        ...{ events, store, reader: kafka.reader(), offsets: kafka.offsets },
        clock: systemClock,
        group,
        options: { differences: options.differences, allowLag: true },
      });
      return { ...result, ok: result.ok && stored };
    } finally {
      await store.close();
    }
  });
}
