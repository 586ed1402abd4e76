// Dependencies and interface of the sink.
import type { ReachPoint } from '../../streams/core/crash-points.ts';
import type { Clock, EventReader, EventWriter, GroupConsumer, GroupOffsets, LogReader, Logger, Store } from '../../streams/core/ports.ts';
import type { Metrics, ReportStatus } from '../../streams/core/telemetry.ts';
import type { Holdings } from './holdings.ts';

export interface WarehouseOptions {
  /** Consumer group, including its namespace. */
  readonly group: string;
  /** Role and id, as recorded in dead letters. */
  readonly producer: string;
  /** Maximum records of one range. */
  readonly batchRecords: number;
  /** Approximate maximum bytes of one range. */
  readonly batchBytes?: number;
  /** How long a range gathers records; ranges of tasks wait `TASKS_WAIT` times as long. */
  readonly maxWaitMs: number;
  /** Bytes buffered over all partitions before fetching pauses. */
  readonly maxBufferedBytes?: number;
  /** Maximum bytes of an original value that a dead letter keeps. */
  readonly deadLetterBytes?: number;
  /** Pauses between retries during an outage. */
  readonly retryMs?: { readonly min: number; readonly max: number };
}

export interface WarehouseDeps {
  readonly group: GroupConsumer;
  readonly offsets: GroupOffsets;
  /** Reads back what was announced before a crash. */
  readonly log: LogReader;
  readonly deadLetters: EventWriter;
  readonly reader: EventReader;
  readonly store: Store;
  /** Those of the store by default. */
  readonly holdings?: Holdings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly report: ReportStatus;
  readonly options: WarehouseOptions;
  /** Named crash points; by default none. */
  readonly reach?: ReachPoint;
}

export interface Warehouse {
  /** Resolves once it is a member of the group. */
  start(signal?: AbortSignal): Promise<void>;
  /** Inserts what is buffered, if the store is available, and leaves the group. */
  stop(): Promise<void>;
  /** Rejects with the error that ended it; resolves when it was stopped. */
  readonly finished: Promise<void>;
}
