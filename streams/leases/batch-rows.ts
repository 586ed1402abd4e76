// The rows of a leased batch. They are built from the log records that its ledger entry refers to, so they are always the same.
import type { BatchLeased } from '../../schemas/generated/events.ts';
import type { TokenRow } from '../rows/row.ts';

export type LeasedTrajectory = BatchLeased['trajectories'][number];

/** What the rows of a batch are built from. */
export type RowsSource = Pick<BatchLeased, 'run_id' | 'trajectories' | 'rollouts'>;

export interface RowsMeasure {
  readonly rows: number;
  /** Token ids in the rows. */
  readonly tokens: number;
  /** Size as NDJSON. */
  readonly bytes: number;
  /** SHA-256 (hex) of the rows. */
  readonly sha256: string;
  /** Numbers of the rows that must not be trained on. */
  readonly untrainable: readonly number[];
  /** Ids of trajectories whose records the log no longer has in full. */
  readonly gone: readonly string[];
}

export interface BatchRows {
  measure(source: RowsSource, signal?: AbortSignal): Promise<RowsMeasure>;
  /** Yields the rows in the order of the batch. */
  rows(source: RowsSource): AsyncIterable<TokenRow>;
  /** Call when the batch was committed: its rows are rarely read again, so no memory is kept for them. */
  forget(source: RowsSource): void;
}
