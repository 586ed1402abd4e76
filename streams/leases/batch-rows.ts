// The rows of a leased batch: made from the log by what its ledger entry names, so they are the same whenever they are made.
import type { BatchLeased } from '../../schemas/generated/events.ts';
import type { TokenRow } from '../rows/row.ts';

/** What the rows of a batch are made from. */
export type RowsSource = Pick<BatchLeased, 'run_id' | 'trajectories' | 'rollouts'>;

export interface RowsMeasure {
  readonly rows: number;
  /** Token ids in the rows. */
  readonly tokens: number;
  /** As NDJSON. */
  readonly bytes: number;
  /** SHA-256 (hex) of the rows. */
  readonly sha256: string;
}

export interface BatchRows {
  measure(source: RowsSource, signal?: AbortSignal): Promise<RowsMeasure>;
  /** One after the other, in the order of the batch. */
  rows(source: RowsSource): AsyncIterable<TokenRow>;
}
