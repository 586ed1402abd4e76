// What each worker of a run did, kept up to date. Attempts with new rows are counted again: their former counts are subtracted.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { touchedAttempts, WAS, type RowsOfState, type RowWindow } from '../row-window.ts';
import { foldedRun, type FoldSpec } from '../run-fold.ts';
import { endedReasons } from './late.sql.ts';

const counted = [
  ...(['started', 'finished', 'failed', 'cancelled', 'lost', 'late'] as const),
  ...(['rewarded', 'reward_sum', 'tool_errors', 'tool_calls', 'flight_ms', 'turns'] as const),
] as const;

/** Sums over the attempts of a worker; `rewarded` is the number of those in `reward_sum`, which is NaN if a reward is. */
type WorkerSums = Readonly<Record<(typeof counted)[number], number>>;

export interface SumsOfWorker extends WorkerSums {
  readonly worker_id: string;
}

/** As read: null is NaN. */
type WorkerRow = Readonly<Record<keyof WorkerSums, number | null>> & Pick<SumsOfWorker, 'worker_id'>;

const tables = ['trajectories', 'trajectory_starts', 'expired_attempts'] as const;

const KEY = 'trajectory_id, attempt';
const OF_PURPOSE = "({purpose:String} = '' or purpose = {purpose:String})";
/** Statuses of attempts that count as finished. */
const FINISHED = "('answered', 'max_turns', 'max_tokens')";

const sums = (values: Readonly<Partial<Record<keyof WorkerSums, string>>>): string =>
  counted.map((name) => `${values[name] ?? (name === 'reward_sum' ? 'toFloat64(0)' : 'toInt64(0)')} as ${name}`).join(', ');

const startedSql = (rows: RowsOfState): string => `
  select state, worker_id, ${sums({ started: 'toInt64(count())' })} from (
    select distinct state, worker_id, ${KEY} from (
      select state, worker_id, ${KEY} from ${rows('trajectory_starts', `worker_id, ${KEY}`, OF_PURPOSE)}
      union all
      select state, worker_id, ${KEY} from ${rows('trajectories', `worker_id, ${KEY}`, OF_PURPOSE)}
    )
  ) group by state, worker_id`;

const ENDED = 'worker_id, status, reward, tool_errors, tool_calls, flight_ms, turns';

/** Of rows that repeat an event, the first counts. */
const endedSql = (rows: RowsOfState): string => `
  select state, ended.1 as worker_id, ${sums({
    finished: `toInt64(countIf(ended.2 in ${FINISHED}))`,
    failed: "toInt64(countIf(ended.2 in ('failed', 'refused', 'timeout')))",
    cancelled: "toInt64(countIf(ended.2 = 'cancelled'))",
    late: 'toInt64(countIf(is_late))',
    rewarded: `toInt64(countIf(ended.2 in ${FINISHED} or ended.2 = 'timeout'))`,
    reward_sum: `sumIf(ended.3, ended.2 in ${FINISHED} or ended.2 = 'timeout')`,
    tool_errors: 'toInt64(sum(ended.4))',
    tool_calls: 'toInt64(sum(ended.5))',
    flight_ms: 'toInt64(sum(ended.6))',
    turns: 'toInt64(sum(ended.7))',
  })} from (
    select state, argMin((${ENDED}), (_partition, _offset)) as ended,
      (state, ${KEY}) in (select state, ${KEY} from ${rows('expired_attempts', KEY, `reason not in (${endedReasons})`)}) as is_late
    from ${rows('trajectories', `${KEY}, _partition, _offset, ${ENDED.replace('flight_ms', "dateDiff('millisecond', started_at, finished_at) as flight_ms")}`, OF_PURPOSE)}
    group by state, ${KEY}
  ) group by state, worker_id`;

const lostSql = (rows: RowsOfState): string => `
  select state, worker_id, ${sums({ lost: `toInt64(uniqExact(${KEY}))` })}
  from ${rows('trajectory_starts', `worker_id, ${KEY}`, OF_PURPOSE)}
  where (state, ${KEY}) in (select state, ${KEY} from ${rows('expired_attempts', KEY)})
    and (state, ${KEY}) not in (
      select state, ${KEY} from ${rows('trajectories', KEY)} where (state, ${KEY}) in (select state, ${KEY} from ${rows('expired_attempts', KEY)})
    )
  group by state, worker_id`;

const workersSumsSql = (rows: RowsOfState): string => `
  select state, toString(worker_id) as worker_id, ${counted.map((name) => `sum(part.${name}) as ${name}`).join(', ')}
  from (${[startedSql(rows), endedSql(rows), lostSql(rows)].join('\n  union all')}
  ) as part group by state, worker_id`;

type ReadWorker = WorkerRow & { readonly state: number };
type ReadWorkers = (sql: string, params: RowWindow['params']) => Promise<readonly ReadWorker[]>;

async function addWorkers(read: ReadWorkers, state: Map<string, WorkerSums>, window: RowWindow): Promise<boolean> {
  const { clause, rows } = touchedAttempts(window, tables);
  for (const row of await read(`${clause} ${workersSumsSql(rows)}`, window.params)) {
    const [known, sign] = [state.get(row.worker_id), row.state === WAS ? -1 : 1];
    const summed = counted.map((name) => [name, (known?.[name] ?? 0) + sign * (row[name] ?? NaN)]);
    state.set(row.worker_id, Object.fromEntries(summed) as WorkerSums);
  }
  return true;
}

/** The workers of a run that started an attempt of a purpose (empty: any). */
export async function readWorkerSums(store: Store, run: string, purpose: string): Promise<readonly SumsOfWorker[]> {
  const spec: FoldSpec<Map<string, WorkerSums>> = {
    ...{ name: `workers of ${purpose}`, run, tables, empty: () => new Map() },
    add: (state, window) => addWorkers((sql, params) => readRows<ReadWorker>(store, sql, { ...params, purpose }), state, window),
  };
  return [...(await foldedRun(store, spec))].filter(([, { started }]) => started > 0).map(([worker_id, row]) => ({ worker_id, ...row }));
}
