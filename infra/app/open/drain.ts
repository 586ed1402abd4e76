// Waits until the tables have everything that is in the log.
import type { Logger } from '../../../streams/core/ports.ts';
import { warehouseTopics } from '../../../consumers/warehouse/rows/tables.ts';
import type { Config } from '../../config/descriptors.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { connectLog, groupsOf, type LogConnection } from './connections.ts';

const LOOK_MS = 100;

/** Resolves with true when the warehouse has committed up to the current end of each partition; with false when the signal aborts first. */
export async function waitUntilDrained(config: Config, logger: Logger, signal: AbortSignal): Promise<boolean> {
  const log = await connectLog({ config, clientId: 'drain', logger });
  try {
    return await drained(log, groupsOf(config.namespace).warehouse, signal);
  } finally {
    await log.close();
  }
}

/** The same over an existing connection. */
export async function drained({ kafka }: LogConnection, group: string, signal: AbortSignal): Promise<boolean> {
  const reader = kafka.reader();
  const ends = await Promise.all(warehouseTopics.map(async (topic) => ({ topic, bounds: await reader.bounds(topic) })));
  for (const { topic, bounds } of ends) {
    for (;;) {
      const committed = new Map((await kafka.offsets.fetch(group, topic)).map(({ partition, offset }) => [partition, offset]));
      if (bounds.every(({ partition, first, end }) => end === first || (committed.get(partition) ?? -1) >= end)) break;
      await pause(LOOK_MS, signal);
      if (signal.aborted) return false;
    }
  }
  return true;
}
