// One trajectory with all of its attempts and its outcome in training.
import type { Store } from '../../../streams/core/ports.ts';
import { selectList, type ColumnKinds, type RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import {
  collectedColumns,
  discardColumns,
  orderColumns,
  taskColumns,
  trainingColumns,
  trajectoryColumns,
  type rewoundColumns,
} from './rollouts.columns.ts';

type TaskRow = RowOf<typeof taskColumns>;
type FinishedRow = RowOf<typeof trajectoryColumns>;
type StartRow = RowOf<(typeof said)['trajectory_starts']>;
type ExpiredRow = RowOf<(typeof said)['expired_attempts']>;
type InLog = RowOf<typeof orderColumns>;

/** One attempt: requested, claimed, given up or finished. */
interface AttemptReport {
  readonly attempt: number;
  /** requested, running, expired, or its final status. */
  readonly status: string;
  readonly requested_at: string | null;
  readonly started_at: string | null;
  readonly worker_id: string;
  /** Why the trainer gave it up; empty if it did not. */
  readonly expired_reason: string;
  /** When the trainer gave it up; null if it did not. */
  readonly expired_at: string | null;
  /** Null until it finishes. */
  readonly result: FinishedRow | null;
}

export interface TrajectoryReport {
  readonly trajectory_id: string;
  readonly run_id: string;
  readonly group_id: string;
  readonly purpose: string;
  readonly question_id: string;
  readonly question: string;
  readonly attempts: readonly AttemptReport[];
  /** Steps that trained on it; at most one. */
  readonly training: readonly RowOf<typeof trainingColumns>[];
  /** Batches that kept it, in a run without training; at most one. */
  readonly collected: readonly RowOf<typeof collectedColumns>[];
  readonly discarded: readonly RowOf<typeof discardColumns>[];
  /** Rewinds that abandoned a step of `training`: the trajectory counts as discarded. */
  readonly rewound: readonly RowOf<typeof rewoundColumns>[];
}

/** Limit per table; a trajectory with more rows is read in log order, so that the limit always keeps the same rows. */
const MOST_ROWS = 1000;

/** Selects the rows of a trajectory, of one run if it is named. */
interface TrajectoryKey {
  readonly trajectory: string;
  readonly run: string | undefined;
}

/** Without an `or`, so that the primary index is searched by bisection, not scanned. */
const ofTrajectory = ({ run }: TrajectoryKey): string =>
  `${run === undefined ? '' : 'run_id = {run:String} and '}trajectory_id = {trajectory:String}`;

/** Unordered: for a few rows, sorting costs the store more than finding them. */
async function readOf<T extends object>(store: Store, named: TrajectoryKey, statement: (where: string) => string): Promise<readonly T[]> {
  const params = named.run === undefined ? { trajectory: named.trajectory } : { ...named };
  const rows = await readRows<T>(store, statement(ofTrajectory(named)), params);
  if (rows.length < MOST_ROWS) return rows;
  return readRows<T>(store, statement(`${ofTrajectory(named)} order by _timestamp, _offset`), params);
}

/** Other records about attempts: several tables in one statement, each row as a list of its cells. */
const said = {
  tasks: {
    run_id: 'text',
    group_id: 'text',
    attempt: 'whole',
    purpose: 'text',
    question_id: 'text',
    question: 'text',
    occurred_at: 'time',
  },
  step_trajectories: trainingColumns,
  collected_trajectories: collectedColumns,
  expired_attempts: { attempt: 'whole', run_id: 'text', reason: 'text', at: 'time' },
  discarded_trajectories: discardColumns,
  trajectory_starts: { run_id: 'text', attempt: 'whole', worker_id: 'text', occurred_at: 'time' },
  rewinds: { run_id: 'text', version: 'whole', to_version: 'whole', at: 'time' },
} as const;
type SaidIn = keyof typeof said;

/** Rewinds name no trajectory: all of the run are read, and a run has few. */
const rewindsOf = ({ run }: TrajectoryKey): string =>
  run === undefined
    ? 'run_id in (select run_id from step_trajectories where trajectory_id = {trajectory:String})'
    : 'run_id = {run:String}';

const saidFrom = (tables: readonly SaidIn[], where: string, named: TrajectoryKey): string =>
  tables
    .map((table) => {
      const columns = `'${table}' as said_in, toJSONString(tuple(${selectList(said[table])})) as cells, ${selectList(orderColumns)}`;
      return `(select ${columns} from ${table} where ${table === 'rewinds' ? rewindsOf(named) : where} limit ${MOST_ROWS})`;
    })
    .join(' union all ');

interface SaidRow extends InLog {
  readonly said_in: SaidIn;
  /** JSON: the values of the table's columns, in order. */
  readonly cells: string;
}

/** The rows of a table in the order of the log. */
function saidIn<T extends SaidIn>(table: T, rows: readonly SaidRow[]): readonly RowOf<(typeof said)[T]>[] {
  const names = Object.keys(said[table]);
  const own = inLogOrder(rows.filter(({ said_in }) => said_in === table));
  return own.map(({ cells }) => {
    const values = JSON.parse(cells) as readonly unknown[];
    return Object.fromEntries(names.map((name, at) => [name, values[at]])) as RowOf<(typeof said)[T]>;
  });
}

function inLogOrder<R extends InLog>(rows: readonly R[]): readonly R[] {
  const at = ({ _timestamp }: InLog): number => Date.parse(_timestamp ?? '');
  return [...rows].sort((a, b) => at(a) - at(b) || a._offset - b._offset);
}

/** One row per attempt; the log may hold an event twice. */
function firstOfEach<R extends { readonly run_id: string; readonly attempt: number }>(rows: readonly R[]): readonly R[] {
  const first = new Map<string, R>();
  for (const row of rows) {
    const key = JSON.stringify([row.run_id, row.attempt]);
    if (!first.has(key)) first.set(key, row);
  }
  return [...first.values()];
}

/** Undefined when neither `tasks` nor `trajectories` has the id. Without a run, the earliest run is used. */
export async function readTrajectory(store: Store, trajectory: string, run?: string): Promise<TrajectoryReport | undefined> {
  const named: TrajectoryKey = { trajectory, run };
  const ask = (...tables: readonly SaidIn[]) => readOf<SaidRow>(store, named, (where) => saidFrom(tables, where, named));
  const [rows, finishes] = await Promise.all([
    ask('tasks', 'step_trajectories', 'discarded_trajectories', 'rewinds'),
    readOf<FinishedRow>(
      store,
      named,
      (where) => `select ${selectList(trajectoryColumns)} from trajectories where ${where} limit ${MOST_ROWS}`,
    ),
  ]);
  const asked = firstOfEach(saidIn('tasks', rows));
  const finished = firstOfEach(inLogOrder(finishes));
  const known = asked[0] ?? finished[0];
  if (known === undefined) return undefined;
  const ofRun = <R extends { readonly run_id: string }>(all: readonly R[]): readonly R[] =>
    all.filter((row) => row.run_id === known.run_id);
  const tasks = ofRun(asked);
  const results = ofRun(finished);
  const training = ofRun(firstOfEach(saidIn('step_trajectories', rows)));
  const has = (all: readonly { readonly attempt: number }[], attempt: number): boolean => all.some((row) => row.attempt === attempt);
  // An attempt that finished and was trained on was not given up, and its result includes everything that its start records. Discards are
  // always read: the log may mention attempts that no task requested.
  const allTold = tasks.length > 0 && tasks.every(({ attempt }) => has(results, attempt) && has(training, attempt));
  const more = allTold ? [] : await ask('expired_attempts', 'trajectory_starts', 'collected_trajectories');
  const started = ofRun(firstOfEach(saidIn('trajectory_starts', more)));
  const expired = ofRun(firstOfEach(saidIn('expired_attempts', more)));
  return {
    trajectory_id: trajectory,
    run_id: known.run_id,
    group_id: known.group_id,
    purpose: known.purpose,
    question_id: known.question_id,
    question: known.question,
    attempts: attemptsOf({ tasks, started, finished: results, expired }),
    training,
    collected: ofRun(firstOfEach(saidIn('collected_trajectories', more))),
    discarded: ofRun(firstOfEach(saidIn('discarded_trajectories', rows))),
    rewound: rewoundOf(training, ofRun(saidIn('rewinds', rows))),
  };
}

/** Every step between a rewind and the version that it went back to is abandoned, by this rewind or by an earlier one. */
function rewoundOf(
  training: TrajectoryReport['training'],
  rewinds: readonly RowOf<(typeof said)['rewinds']>[],
): TrajectoryReport['rewound'] {
  const byVersion = [...rewinds].sort((a, b) => a.version - b.version);
  return training.flatMap(({ attempt, run_id, step }) => {
    const by = byVersion.find(({ version, to_version: to }) => to < step && step < version);
    return by === undefined ? [] : [{ attempt, run_id, step, version: by.version, to_version: by.to_version, at: by.at }];
  });
}

/** Joins four kinds of events about each attempt; any of them may be missing. */
export function attemptsOf(rows: {
  readonly tasks: readonly Pick<TaskRow, 'attempt' | 'occurred_at'>[];
  readonly started: readonly Pick<StartRow, 'attempt' | 'worker_id' | 'occurred_at'>[];
  readonly finished: readonly FinishedRow[];
  readonly expired: readonly Pick<ExpiredRow, 'attempt' | 'reason' | 'at'>[];
}): readonly AttemptReport[] {
  const all = [...rows.tasks, ...rows.started, ...rows.finished, ...rows.expired].map(({ attempt }) => attempt);
  const numbers = [...new Set(all)].sort((a, b) => a - b);
  return numbers.map((attempt) => {
    const start = rows.started.find((row) => row.attempt === attempt);
    const result = rows.finished.find((row) => row.attempt === attempt);
    const expiry = rows.expired.find((row) => row.attempt === attempt);
    return {
      attempt,
      status: result?.status ?? unfinishedStatus(expiry !== undefined, start !== undefined),
      requested_at: rows.tasks.find((row) => row.attempt === attempt)?.occurred_at ?? null,
      ...claimOf(result, start),
      expired_reason: expiry?.reason ?? '',
      expired_at: expiry?.at ?? null,
      result: result ?? null,
    };
  });
}

function unfinishedStatus(expired: boolean, started: boolean): string {
  if (expired) return 'expired';
  return started ? 'running' : 'requested';
}

function claimOf(
  result: FinishedRow | undefined,
  start: Pick<StartRow, 'worker_id' | 'occurred_at'> | undefined,
): Pick<AttemptReport, 'started_at' | 'worker_id'> {
  if (result !== undefined) return { started_at: result.started_at, worker_id: result.worker_id };
  if (start !== undefined) return { started_at: start.occurred_at, worker_id: start.worker_id };
  return { started_at: null, worker_id: '' };
}

export interface GroupReport {
  readonly group_id: string;
  readonly run_id: string;
  readonly question_id: string;
  readonly question: string;
  readonly purpose: string;
  readonly group_size: number;
  /** Over finished attempts. */
  readonly reward_mean: number | null;
  readonly reward_min: number | null;
  readonly reward_max: number | null;
  /** Every finished attempt. */
  readonly trajectories: readonly FinishedRow[];
  /** Every requested attempt. */
  readonly requested: readonly TaskRow[];
}

export async function readGroup(store: Store, group: string, run?: string): Promise<GroupReport | undefined> {
  const rowsOf = <C extends ColumnKinds>(table: string, columns: C): Promise<readonly RowOf<C>[]> =>
    readRows<RowOf<C>>(
      store,
      `select ${selectList(columns)} from ${table}
       where group_id = {group:String} and ({run:String} = '' or run_id = {run:String})
       order by trajectory_id, attempt, _offset limit 1 by run_id, trajectory_id, attempt limit 10000`,
      { group, run: run ?? '' },
    );
  const [requested, finished] = await Promise.all([rowsOf('tasks', taskColumns), rowsOf('trajectories', trajectoryColumns)]);
  const known = requested[0] ?? finished[0];
  if (known === undefined) return undefined;
  const trajectories = finished.filter(({ run_id }) => run_id === known.run_id);
  const rewards = trajectories.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  const some = rewards.length > 0;
  return {
    group_id: group,
    run_id: known.run_id,
    question_id: known.question_id,
    question: known.question,
    purpose: known.purpose,
    group_size: requested[0]?.group_size ?? trajectories.length,
    reward_mean: some ? rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length : null,
    reward_min: some ? Math.min(...rewards) : null,
    reward_max: some ? Math.max(...rewards) : null,
    trajectories,
    requested: requested.filter(({ run_id }) => run_id === known.run_id),
  };
}
