// `turnstream warehouse mend`: repairs partitions whose committed position no longer exists in the log.
import { keptTables } from '../../../consumers/warehouse/keep-figures.ts';
import { createHoldings } from '../../../consumers/warehouse/holdings.ts';
import { mend, survey, type MendDeps, type SurveyedPartition } from '../../../consumers/warehouse/mend.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { connectWarehouse, groupsOf, type LogConnection } from '../../app/open/connections.ts';
import { assertNoUp } from './rebuild.ts';
import { withLog } from '../../app/open/with-log.ts';

export interface MendOptions {
  readonly config: Config;
  readonly logger: Logger;
  /** Applies the repair; false only inspects. */
  readonly apply: boolean;
}

/** Returns what it found before any change. Rejects with GROUP_FENCED when `apply` is set while a sink runs. */
export async function mendWarehouse({ config, logger, apply }: MendOptions): Promise<readonly SurveyedPartition[]> {
  if (apply) assertNoUp(config, 'mending the warehouse');
  return withLog({ config, logger, purpose: 'warehouse mend', store: true }, async (log, found) => {
    const store = connectWarehouse(found);
    try {
      const deps = depsOf(log, groupsOf(found.namespace).warehouse, createHoldings(store));
      if (apply) await assertAlone(log, deps.group);
      const partitions = await survey(deps);
      if (apply) {
        await mend(partitions, deps);
        for (const table of keptTables) await store.command(`truncate table if exists ${table}`);
      }
      return partitions;
    } finally {
      await store.close();
    }
  });
}

const depsOf = ({ kafka }: LogConnection, group: string, holdings: MendDeps['holdings']): MendDeps => ({
  group,
  holdings,
  log: kafka.reader(),
  offsets: { fetch: (of, topic) => kafka.offsets.fetch(of, topic), set: (of, positions) => kafka.setOffsets(of, positions) },
});

async function assertAlone({ kafka }: LogConnection, group: string): Promise<void> {
  const members = await kafka.offsets.members(group);
  if (members === 0) return;
  throw new PlatformError(
    'GROUP_FENCED',
    `mending the warehouse: sinks of the group ${group} are running (${members}); stop them first. One that was killed counts for up to 30 s`,
  );
}
