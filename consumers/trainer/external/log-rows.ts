// Makes the rows of a batch from the turns in the log, one attempt at a time, in the order of the batch. Memory is bounded by the buffer of
// attempts that are interleaved in the log, and by the cache of rows.
import { LRUCache } from 'lru-cache';
import { attemptRows, createAttemptCache, lineBytesOf, placedRow, type AttemptRows } from '../../common/rows/attempt-rows.ts';
import { readAttempts, type AttemptRange } from '../../common/rows/read-attempts.ts';
import type { EventSource } from '../../../streams/core/read-log.ts';
import type { BatchRows, LeasedTrajectory, RowsMeasure, RowsSource } from '../../../streams/leases/batch-rows.ts';
import type { TokenRow } from '../../../streams/rows/row.ts';
import { BatchHash } from '../../../streams/rows/row-hash.ts';
import { createServingFirst } from './serving-first.ts';

/** Enough for several batches: one is usually about 10 MB. */
const CACHE_BYTES = 64 * 1024 * 1024;
/** More than are leased at once. */
const MEASURES = 8;

interface ReadRows {
  readonly made: AttemptRows;
  /** False if the log no longer has all records of the attempt. */
  readonly isWhole: boolean;
}

interface MadeRows extends ReadRows {
  readonly one: LeasedTrajectory;
}

interface RowsReading {
  readonly signal?: AbortSignal | undefined;
  /** Awaited before each attempt that is read from the log. */
  readonly giveWay?: () => Promise<void>;
}

const rangeOf = ({ rollouts }: RowsSource, signal: AbortSignal | undefined): AttemptRange => ({
  from: new Map(rollouts.map(({ partition, offset }) => [partition, offset])),
  to: new Map(rollouts.map(({ partition, end }) => [partition, end])),
  ...(signal === undefined ? {} : { signal }),
});

/** Reading is many times faster if the events of `source` decode turns lazily. */
export function createLogRows(source: EventSource, cacheBytes = CACHE_BYTES): BatchRows {
  const cache = createAttemptCache(cacheBytes);
  const measures = new LRUCache<string, RowsMeasure>({ max: MEASURES });
  const serving = createServingFirst();

  async function* readAll(batch: RowsSource, missing: readonly LeasedTrajectory[], reading: RowsReading): AsyncGenerator<ReadRows> {
    const range = rangeOf(batch, reading.signal);
    for (let left = missing; left.length > 0;) {
      let count = 0;
      for await (const read of readAttempts({ ...source, runId: batch.run_id }, left, range)) {
        const made = attemptRows(read);
        if (read.isWhole) cache.put(read.wanted, made);
        count += 1;
        // a fetch may hold many attempts; let calls be served in between
        await new Promise((resolve) => setImmediate(resolve));
        await reading.giveWay?.();
        yield { made, isWhole: read.isWhole };
      }
      left = left.slice(count);
    }
  }

  async function* attempts(batch: RowsSource, how: RowsReading = {}): AsyncGenerator<MadeRows, void, undefined> {
    const known = new Map(batch.trajectories.map((one) => [one, cache.get(one)]));
    const missing = batch.trajectories.filter((one) => known.get(one) === undefined);
    const reading = readAll(batch, missing, how);
    try {
      for (const one of batch.trajectories) {
        const made = known.get(one);
        yield made === undefined ? { one, ...((await reading.next()).value as ReadRows) } : { one, made, isWhole: true };
      }
    } finally {
      await reading.return(undefined);
    }
  }

  return {
    async measure(batch, signal) {
      const key = JSON.stringify(batch.trajectories);
      const known = measures.get(key);
      // what is read from the log again may have changed: records may be gone
      if (known !== undefined && batch.trajectories.every((one) => cache.get(one) !== undefined)) return known;
      const measure = await measureOf(attempts(batch, { signal, giveWay: serving.newTurns() }));
      measures.set(key, measure);
      return measure;
    },
    rows: (batch) => serving.track(placedRows(attempts(batch))),
    forget({ trajectories }) {
      for (const one of trajectories) cache.forget(one);
    },
  };
}

async function measureOf(attempts: AsyncIterable<MadeRows>): Promise<RowsMeasure> {
  const hash = new BatchHash();
  let [rows, tokens, bytes] = [0, 0, 0];
  const untrainable: number[] = [];
  const gone: string[] = [];
  for await (const { one, made, isWhole } of attempts) {
    if (!isWhole) gone.push(one.trajectory_id);
    for (const own of made) {
      const row = placedRow(own, rows, one);
      hash.add(row, own.hash);
      if (!row.trainable) untrainable.push(rows);
      rows += 1;
      tokens += row.token_ids.length;
      bytes += lineBytesOf(own, row);
    }
  }
  return { rows, tokens, bytes, sha256: hash.digest(), untrainable, gone };
}

async function* placedRows(attempts: AsyncIterable<MadeRows>): AsyncGenerator<TokenRow, void, undefined> {
  let number = 0;
  for await (const { one, made } of attempts) {
    for (const own of made) {
      yield placedRow(own, number, one);
      number += 1;
    }
  }
}
