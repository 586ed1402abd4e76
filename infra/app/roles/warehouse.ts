// The sink: stores every record of the log in ClickHouse.
import { hostname } from 'node:os';
import { keepFigures } from '../../../consumers/warehouse/keep-figures.ts';
import { createWarehouse, lateTypes } from '../../../consumers/warehouse/warehouse.ts';
import { connectLog, connectWarehouse, groupsOf } from '../open/connections.ts';
import { prepareStore } from '../open/prepare.ts';
import { throughOutages } from './outages.ts';
import type { RoleContext, RoleMain } from './role.ts';
import { systemClock } from '../../lifecycle/clock.ts';
import { aborted } from '../../lifecycle/waiting.ts';

/** One member of the consumer group of sinks. */
export const warehouseRole: RoleMain = async (context, signal) => {
  const { report, logger } = context;
  const end = await throughOutages({ report, logger, signal }, (during) => live({ ...context, report: during }, signal));
  return end ?? 'stopped';
};

async function live({ config, logger, metrics, report, reach, onSkipped }: RoleContext, signal: AbortSignal): Promise<'stopped'> {
  report({ state: 'starting', detail: 'bringing the tables up to date', figures: {} });
  await prepareStore(config);
  const log = await connectLog({ config, clientId: 'warehouse', logger, metrics, onSkipped });
  const store = connectWarehouse(config, 'warehouse');
  const warehouse = createWarehouse({
    group: log.kafka.group(),
    offsets: log.kafka.offsets,
    log: log.kafka.reader(),
    deadLetters: await log.kafka.writer(),
    reader: log.eventsThrough({ late: lateTypes }),
    store,
    clock: systemClock,
    ...{ logger, metrics, report, reach },
    options: {
      group: groupsOf(config.namespace).warehouse,
      producer: `warehouse-${hostname()}-${process.pid}`,
      batchRecords: config.sinkBatchRows,
      maxWaitMs: config.sinkMaxWaitMs,
    },
  });
  const ending = new AbortController();
  let keeping: Promise<void> | undefined;
  try {
    await warehouse.start(signal);
    keeping = keepFigures({ store, clock: systemClock, logger, signal: ending.signal });
    await Promise.race([aborted(signal), warehouse.finished]);
    return 'stopped';
  } finally {
    ending.abort();
    await warehouse.stop();
    await keeping;
    await store.close();
    await log.close();
  }
}
