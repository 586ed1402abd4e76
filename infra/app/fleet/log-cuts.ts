// Decides where the local log may be truncated: only records of finished runs in `rollouts` and `tasks`. Pure.
//
// - A finished run is kept until it is old or the log is too large: then the run that finished first is removed first. Runs named in the
// settings, the current run and unfinished runs are kept.
// - A partition is truncated before the first record of any kept run, and only as far as the tables have its records. A kept run whose
// start is unknown prevents truncation.
// - Ledger, policies, questions, evaluations and texts are never truncated.
import type { RunStart } from '../../../streams/core/ports.ts';

export interface KnownRun {
  readonly runId: string;
  /** When it finished, ms since the epoch; undefined if it may continue. */
  readonly finishedAtMs: number | undefined;
}

export interface StoredRange {
  readonly topic: 'rollouts' | 'tasks';
  readonly partition: number;
  readonly first: number;
  readonly end: number;
  /** The tables have every record before this offset. */
  readonly stored: number;
}

export interface KeepRules {
  readonly nowMs: number;
  /** How long finished runs are kept, ms; Infinity keeps them forever. */
  readonly keepMs: number;
  /** Size limit for `rollouts` and `tasks` together, bytes; Infinity for none. */
  readonly keepBytes: number;
  readonly keepRuns: ReadonlySet<string>;
}

export interface LogKnown {
  readonly runs: readonly KnownRun[];
  /** Where runs begin. A run listed here but not in `runs` has not reached the tables. */
  readonly starts: ReadonlyMap<string, RunStart>;
  readonly partitions: readonly StoredRange[];
  /** Current size of `rollouts` and `tasks`. */
  readonly bytes: number;
}

interface LogCut {
  readonly topic: StoredRange['topic'];
  readonly partition: number;
  /** The first record to keep. */
  readonly offset: number;
}

export interface CutPlan {
  /** Only partitions that lose records. */
  readonly cuts: readonly LogCut[];
  /** Runs that are no longer kept, in the order in which they finished. */
  readonly released: readonly string[];
}

export function planCuts(known: LogKnown, rules: KeepRules): CutPlan {
  const finished = known.runs
    .flatMap(({ runId, finishedAtMs }) => (finishedAtMs === undefined || rules.keepRuns.has(runId) ? [] : [{ runId, finishedAtMs }]))
    .sort((a, b) => a.finishedAtMs - b.finishedAtMs);
  const released = finished.filter(({ finishedAtMs }) => rules.nowMs - finishedAtMs > rules.keepMs).map(({ runId }) => runId);
  let cuts = cutsWithout(known, released);
  for (const { runId } of finished.slice(released.length)) {
    if (bytesAfter(known, cuts) <= rules.keepBytes) break;
    released.push(runId);
    cuts = cutsWithout(known, released);
  }
  return { cuts, released };
}

function cutsWithout({ runs, starts, partitions }: LogKnown, released: readonly string[]): readonly LogCut[] {
  const gone = new Set(released);
  const kept = new Set([...runs.map(({ runId }) => runId), ...starts.keys()].filter((runId) => !gone.has(runId)));
  return partitions.flatMap(({ topic, partition, first, stored }) => {
    let offset = stored;
    for (const runId of kept) offset = Math.min(offset, starts.get(runId)?.[topic]?.[partition] ?? 0);
    return offset > first ? [{ topic, partition, offset }] : [];
  });
}

/** An estimate: assumes that all records of a partition have the same size. */
function bytesAfter({ partitions, bytes }: LogKnown, cuts: readonly LogCut[]): number {
  const records = partitions.reduce((sum, { first, end }) => sum + end - first, 0);
  const cut = cuts.reduce((sum, { topic, partition, offset }) => {
    const range = partitions.find((one) => one.topic === topic && one.partition === partition);
    return sum + offset - (range?.first ?? offset);
  }, 0);
  return records === 0 ? 0 : (bytes * (records - cut)) / records;
}
