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
}

export interface BatchRows {
  measure(source: RowsSource, signal?: AbortSignal): Promise<RowsMeasure>;
  /** Yields the rows in the order of the batch. */
  rows(source: RowsSource): AsyncIterable<TokenRow>;
  /** The batch was committed, so its rows are hardly read again: no memory is spent on them. */
  forget(source: RowsSource): void;
}
