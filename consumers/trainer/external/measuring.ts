// Measures the rows of a batch in the background, so that the coordinator's loop keeps serving calls. When a measurement ends, it wakes the
// loop, which uses the result if it still needs the same batch.
import type { BatchRows, RowsMeasure, RowsSource } from '../../../streams/leases/batch-rows.ts';

export interface Measuring {
  readonly isBusy: boolean;
  /** Returns undefined until the batch is measured; the loop is woken then. Throws if measuring failed. */
  of(batch: RowsSource): RowsMeasure | undefined;
  /** Aborts a running measurement. */
  close(): void;
}

interface MeasuredBatch {
  readonly key: string;
  result: RowsMeasure | undefined;
  failure: { readonly error: unknown } | undefined;
}

/** Together with the log, the trajectories determine the hash of a batch. */
const keyOf = ({ trajectories }: RowsSource): string => JSON.stringify(trajectories);

export function createMeasuring(rows: BatchRows, wake: () => void): Measuring {
  const closing = new AbortController();
  let last: MeasuredBatch | undefined;
  let isBusy = false;

  async function measure(batch: RowsSource, measured: MeasuredBatch): Promise<void> {
    try {
      measured.result = await rows.measure(batch, closing.signal);
    } catch (error) {
      measured.failure = { error };
    }
    isBusy = false;
    wake();
  }

  return {
    get isBusy() {
      return isBusy;
    },
    of(batch) {
      const key = keyOf(batch);
      if (last?.key === key) {
        if (last.failure !== undefined) throw last.failure.error;
        return last.result;
      }
      // one at a time: a batch may depend on the one before it
      if (isBusy) return undefined;
      isBusy = true;
      last = { key, result: undefined, failure: undefined };
      void measure(batch, last);
      return undefined;
    },
    close() {
      closing.abort();
    },
  };
}
