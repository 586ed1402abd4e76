// `turnstream warehouse rebuild`: rebuilds all tables from the log.
//
// 1. check that no sink runs: its group must have no members, and this process owns the local services until it ends
// 2. drop every table
// 3. reset the group's offsets to the beginning of the log, without any announced range
// 4. create the tables, empty
// 5. one sink stores the log to its end
// 6. the audit compares both
// If it is stopped at any point, it can be run again; from 5 on, starting a sink continues as well.
import { audit, type AuditResult } from '../../../consumers/warehouse/audit.ts';
import { tablesOf, warehouseTopics } from '../../../consumers/warehouse/rows/tables.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Logger, Position } from '../../../streams/core/ports.ts';
import type { ClickHouseStore } from '../../clickhouse/client.ts';
import type { Config } from '../../config/descriptors.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { connectWarehouse, groupsOf, type LogConnection } from '../../app/open/connections.ts';
import { createTables, dropTables, rowsBefore } from './rebuild-tables.ts';
import { readServices } from '../../app/open/services-file.ts';
import { storeLog } from '../../app/open/store-log.ts';
import { withLog } from '../../app/open/with-log.ts';
import { systemClock } from '../../lifecycle/clock.ts';

export interface RebuildOptions {
  readonly config: Config;
  readonly logger: Logger;
  /** How long to wait for running sinks to leave, ms; 0 fails immediately. */
  readonly waitMs: number;
  /** Proceeds although this loses rows whose records have left the log. */
  readonly dropExpired: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: RebuildProgress) => void;
}

export interface RebuildProgress {
  readonly phase: 'waiting' | 'emptying' | 'storing' | 'auditing';
  /** Records stored or compared so far. */
  readonly done: number;
  /** Total number of records; while it waits, the number of running sinks. */
  readonly of: number;
  /** What the rebuild waits for; empty when it is not waiting. */
  readonly detail: string;
}

export interface RebuildReport {
  /** False when it was stopped early. */
  readonly complete: boolean;
  readonly records: number;
  /** Seconds to store the log, from the empty tables to the last record. */
  readonly storeSeconds: number;
  readonly auditSeconds: number;
  /** Undefined when it was stopped before the audit. */
  readonly audit: AuditResult | undefined;
}

interface RebuildJob extends RebuildOptions {
  readonly log: LogConnection;
  readonly store: ClickHouseStore;
  readonly group: string;
  /** The first position of each partition. */
  readonly firsts: readonly Position[];
}

const LOOK_MS = 250;

/**
 * Rejects with GROUP_FENCED while a sink runs, and with USAGE_INVALID when rows would be lost permanently; in both cases nothing has
 * changed.
 */
export function rebuildWarehouse(options: RebuildOptions): Promise<RebuildReport> {
  assertNoUp(options.config, 'rebuilding the warehouse');
  const { config, logger } = options;
  return withLog({ config, logger, purpose: 'warehouse rebuild', store: true, tablesAsTheyAre: true }, async (log, found) => {
    const store = connectWarehouse(found);
    try {
      await store.createDatabase();
      const work: RebuildJob = {
        ...options,
        config: found,
        log,
        store,
        group: groupsOf(found.namespace).warehouse,
        firsts: await firstsOf(log),
      };
      await untilAlone(work);
      await assertNothingLost(work);
      return await rebuild(work);
    } finally {
      await store.close();
    }
  });
}

/** Under a running `up`, the supervisor would restart its sink again and again. */
export function assertNoUp({ dataDir }: Config, doing: string): void {
  const running = readServices(dataDir);
  if (running === undefined || running.processes['warehouse'] === undefined) return;
  throw new PlatformError(
    'DATA_DIR_IN_USE',
    `${doing}: \`turnstream up\` (process ${running.pid}) runs a sink in ${dataDir}; stop it with Ctrl-C first`,
  );
}

async function firstsOf({ kafka }: LogConnection): Promise<readonly Position[]> {
  const reader = kafka.reader();
  const found = await Promise.all(
    warehouseTopics.map(async (topic) => (await reader.bounds(topic)).map(({ partition, first }) => ({ topic, partition, offset: first }))),
  );
  return found.flat();
}

async function untilAlone({ log, group, waitMs, signal, onProgress }: RebuildJob): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const members = await log.kafka.offsets.members(group);
    if (members === 0) return;
    if (performance.now() >= deadline || signal.aborted) {
      throw new PlatformError(
        'GROUP_FENCED',
        `rebuilding the warehouse: ${members === 1 ? 'a sink is' : `${members} sinks are`} running in the group ${group}; stop ${members === 1 ? 'it' : 'them'}, or give --wait to wait until ${members === 1 ? 'it is' : 'they are'} gone`,
      );
    }
    onProgress({ phase: 'waiting', done: 0, of: members, detail: `${members} running` });
    await pause(LOOK_MS, signal);
  }
}

async function assertNothingLost({ store, firsts, dropExpired }: RebuildJob): Promise<void> {
  if (dropExpired) return;
  for (const topic of warehouseTopics) {
    const ofTopic = firsts.filter((first) => first.topic === topic);
    for (const table of tablesOf(topic)) {
      const rows = await rowsBefore(store, table, ofTopic);
      if (rows === 0) continue;
      throw new PlatformError(
        'USAGE_INVALID',
        `rebuilding the warehouse: ${table} has ${rows} rows whose records have left the log by its retention, and they would be lost permanently; export them first, or give --drop-expired`,
      );
    }
  }
}

async function rebuild(work: RebuildJob): Promise<RebuildReport> {
  const { store, log, group, firsts, signal, onProgress } = work;
  onProgress({ phase: 'emptying', done: 0, of: 0, detail: '' });
  await dropTables(store);
  await log.kafka.setOffsets(
    group,
    firsts.map((first) => ({ ...first, metadata: '' })),
  );
  await createTables(store);
  const began = performance.now();
  const records = await storeLog({
    ...work,
    onProgress: (progress) => {
      onProgress({ phase: 'storing', ...progress });
    },
  });
  const stored = performance.now();
  const storeSeconds = (stored - began) / 1_000;
  if (signal.aborted) return { complete: false, records, storeSeconds, auditSeconds: 0, audit: undefined };
  const result = await audit({
    ...{ store, group, events: log.events, reader: log.kafka.reader(), offsets: log.kafka.offsets, clock: systemClock },
    onProgress: (progress) => {
      onProgress({ phase: 'auditing', done: progress.records, of: progress.of, detail: progress.topic });
    },
  });
  return { complete: true, records, storeSeconds, auditSeconds: (performance.now() - stored) / 1_000, audit: result };
}
