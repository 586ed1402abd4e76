// How far the log may be cut: what finished runs left in `rollouts` and `tasks`, and nothing else. Pure.
//
// - A run is kept until it has finished and is old, or until it has finished and the log is too large: the one that
//   finished first goes first. Runs that are named in the settings, the run that is going on and unfinished runs are kept.
// - A partition is cut before the first record of any run that is kept, and before what is not in the tables yet. A kept run
//   of which it is not known where it begins keeps everything.
// - Ledger, policies, questions, evaluations and texts are never cut.
import type { RunStart } from '../../../streams/core/ports.ts';

export interface KnownRun {
  readonly runId: string;
  /** When it finished, ms since the epoch; undefined for one that may go on. */
  readonly finishedAtMs: number | undefined;
}

export interface PartitionRange {
  readonly topic: 'rollouts' | 'tasks';
  readonly partition: number;
  readonly first: number;
  readonly end: number;
  /** The tables have everything before. */
  readonly stored: number;
}

export interface KeepRules {
  readonly nowMs: number;
  /** How long finished runs are kept, ms; Infinity keeps them for ever. */
  readonly keepMs: number;
  /** Bytes that `rollouts` and `tasks` may take together; Infinity for no bound. */
  readonly keepBytes: number;
  readonly keepRuns: ReadonlySet<string>;
}

export interface LogKnown {
  readonly runs: readonly KnownRun[];
  /** Where runs begin. A run that is here and not among `runs` has not reached the tables. */
  readonly starts: ReadonlyMap<string, RunStart>;
  readonly partitions: readonly PartitionRange[];
  /** What `rollouts` and `tasks` take now. */
  readonly bytes: number;
}

interface Cut {
  readonly topic: PartitionRange['topic'];
  readonly partition: number;
  /** The first record that stays. */
  readonly offset: number;
}

export interface CutPlan {
  /** Only where something goes. */
  readonly cuts: readonly Cut[];
  /** Runs that are no longer kept, the one that finished first at the beginning. */
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

function cutsWithout({ runs, starts, partitions }: LogKnown, released: readonly string[]): readonly Cut[] {
  const gone = new Set(released);
  const kept = new Set([...runs.map(({ runId }) => runId), ...starts.keys()].filter((runId) => !gone.has(runId)));
  return partitions.flatMap(({ topic, partition, first, stored }) => {
    let offset = stored;
    for (const runId of kept) offset = Math.min(offset, starts.get(runId)?.[topic]?.[partition] ?? 0);
    return offset > first ? [{ topic, partition, offset }] : [];
  });
}

/** Estimated: records of a partition count as equally large. */
function bytesAfter({ partitions, bytes }: LogKnown, cuts: readonly Cut[]): number {
  const records = partitions.reduce((sum, { first, end }) => sum + end - first, 0);
  const cut = cuts.reduce((sum, { topic, partition, offset }) => {
    const range = partitions.find((one) => one.topic === topic && one.partition === partition);
    return sum + offset - (range?.first ?? offset);
  }, 0);
  return records === 0 ? 0 : (bytes * (records - cut)) / records;
}
