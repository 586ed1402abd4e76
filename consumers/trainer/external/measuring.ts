// Measures the rows of a batch beside the loop of the coordinator: calls are served meanwhile. The loop asks again when it is woken, and takes what
// was measured if that is still the batch that it wants.
import type { BatchRows, RowsMeasure, RowsSource } from '../../../streams/leases/batch-rows.ts';

export interface Measuring {
  readonly isBusy: boolean;
  /** What the batch measures; undefined while it is not known, and then the loop is woken. Throws what ended the measuring. */
  of(batch: RowsSource): RowsMeasure | undefined;
  /** Nothing is measured any more. */
  close(): void;
}

interface MeasuredBatch {
  readonly key: string;
  result: RowsMeasure | undefined;
  failure: { readonly error: unknown } | undefined;
}

/** Everything that the hash of a batch is made of beside the log. */
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
      // one after the other: what a batch leaves is known when the next one is measured
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
