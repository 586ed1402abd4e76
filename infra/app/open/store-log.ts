// Runs one sink until it has stored what is in the log.
import { hostname } from 'node:os';
import { warehouseTopics } from '../../../consumers/warehouse/rows/tables.ts';
import { createWarehouse, lateTypes } from '../../../consumers/warehouse/warehouse.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { noMetrics } from '../../../streams/core/telemetry.ts';
import type { ClickHouseStore } from '../../clickhouse/client.ts';
import type { Config } from '../../config/descriptors.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { systemClock } from '../../lifecycle/clock.ts';
import type { LogConnection } from './connections.ts';

export interface StoreLog {
  readonly config: Config;
  readonly logger: Logger;
  readonly log: LogConnection;
  readonly store: ClickHouseStore;
  readonly group: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { readonly done: number; readonly of: number; readonly detail: string }) => void;
}

const LOOK_MS = 250;

/** Runs one sink until it has stored everything or the signal aborts; returns the number of stored records. */
export async function storeLog({ config, log, store, group, signal, logger, onProgress }: StoreLog): Promise<number> {
  let detail = '';
  const warehouse = createWarehouse({
    ...{
      store,
      logger,
      group: log.kafka.group(),
      offsets: log.kafka.offsets,
      log: log.kafka.reader(),
      reader: log.eventsThrough({ late: lateTypes }),
      metrics: noMetrics,
    },
    deadLetters: await log.kafka.writer(),
    clock: systemClock,
    report: (status) => {
      detail = status.detail;
    },
    options: {
      group,
      producer: `store-log-${hostname()}-${process.pid}`,
      batchRecords: config.sinkBatchRows,
      maxWaitMs: config.sinkMaxWaitMs,
    },
  });
  try {
    await warehouse.start(signal);
    const failed = warehouse.finished.then(() => undefined);
    for (;;) {
      const { done, of } = await progressOf(log, group);
      onProgress({ done, of, detail });
      if (done === of || signal.aborted) return done;
      await Promise.race([pause(LOOK_MS, signal), failed]);
    }
  } finally {
    await warehouse.stop();
  }
}

/** Number of records in the log, including transaction markers, and how many of them lie before the group's offsets. */
async function progressOf({ kafka }: LogConnection, group: string): Promise<{ readonly done: number; readonly of: number }> {
  const reader = kafka.reader();
  let [done, of] = [0, 0];
  for (const topic of warehouseTopics) {
    const [bounds, offsets] = await Promise.all([reader.bounds(topic), kafka.offsets.fetch(group, topic)]);
    const committed = new Map(offsets.map(({ partition, offset }) => [partition, offset]));
    for (const { partition, first, end } of bounds) {
      of += end - first;
      done += Math.max(0, Math.min(committed.get(partition) ?? first, end) - first);
    }
  }
  return { done, of };
}
