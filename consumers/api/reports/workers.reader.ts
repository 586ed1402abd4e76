// Comparison of the workers of a run: the rows of `workersSql`, from sums that are kept up to date.
import type { Store } from '../../../streams/core/ports.ts';
import { byText } from '../by-text.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import type { workerColumns } from './reports.columns.ts';
import type { RunPart } from './reports.reader.ts';
import { readWorkerSums, type SumsOfWorker } from './workers.fold.ts';

type ReportedWorker = RowOf<typeof workerColumns>;
type WorkerBeats = Pick<ReportedWorker, 'worker_id' | 'longest_silence_s' | 'last_heartbeat_at'>;

const beatsSql = `
  select
    toString(worker_id) as worker_id,
    arrayMax(arrayDifference(arraySort(groupArray(toUnixTimestamp64Milli(occurred_at))))) / 1000 as longest_silence_s,
    max(occurred_at) as last_heartbeat_at
  from heartbeats
  where run_id = {run:String}
  group by worker_id`;

/** A worker without heartbeats. */
const SILENT = { longest_silence_s: 0, last_heartbeat_at: '1970-01-01T00:00:00.000000Z' };

const ratio = (some: number, all: number): number | null => (all === 0 || Number.isNaN(some / all) ? null : some / all);

function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

function workerOf(sums: SumsOfWorker, beats: Omit<WorkerBeats, 'worker_id'>): ReportedWorker {
  const { worker_id, started, finished, failed, cancelled, lost, late } = sums;
  return {
    ...{ worker_id, started, finished, lost, lost_share: lost / started, failed, cancelled },
    ...{ running: started - finished - failed - cancelled - lost, late, reward_mean: ratio(sums.reward_sum, sums.rewarded) },
    tool_failure_rate: ratio(sums.tool_errors, sums.tool_calls),
    ...{ ms_per_turn: ratio(sums.flight_ms, sums.turns), slowness: null, ...beats },
  };
}

/** By lost share and slowness, highest first; unknown slowness last. */
const inOrder = (a: ReportedWorker, b: ReportedWorker): number =>
  (b.lost_share ?? 0) - (a.lost_share ?? 0) || (b.slowness ?? -Infinity) - (a.slowness ?? -Infinity) || byText(a.worker_id, b.worker_id);

export async function readWorkers(store: Store, { run, purpose }: RunPart): Promise<readonly ReportedWorker[]> {
  const [sums, beats] = await Promise.all([readWorkerSums(store, run, purpose ?? ''), readRows<WorkerBeats>(store, beatsSql, { run })]);
  const beatsOf = new Map(beats.map(({ worker_id, ...own }) => [worker_id, own]));
  const workers = sums.map((own) => workerOf(own, beatsOf.get(own.worker_id) ?? SILENT));
  const usual = median(workers.flatMap(({ ms_per_turn }) => ms_per_turn ?? []));
  return workers
    .map((worker) => ({ ...worker, slowness: worker.ms_per_turn === null || !usual ? null : worker.ms_per_turn / usual }))
    .sort(inOrder);
}
