// The attempts of a run as figures per second, kept up to date. An attempt is counted in the second of its start and in that of its end.
// Its rows come one after the other, so attempts with new rows are counted again: their former counts are subtracted.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { OF_PURPOSE } from '../of-purpose.ts';
import { IS, touchedAttempts, WAS, type RowsOfState, type RowWindow } from '../row-window.ts';
import { foldedRun, type FoldSpec } from '../run-fold.ts';
import { MOST_INT32 } from '../values.ts';

/** Attempts that started in a second by fate, and attempts that ended in it. */
export interface FlowSecond {
  readonly second: number;
  began: number;
  ended: number;
  trained: number;
  collected: number;
  discarded: number;
  lost: number;
  /** Of the trained ones; -1 for none. */
  staleness_max: number;
  /** First version of those that started; `NO_VERSION` for none. */
  oldest: number;
  /** Latest start or finish of those that started. */
  last: number;
}

type FlowSeconds = Map<number, FlowSecond>;

/** Greater than every version. */
export const NO_VERSION = MOST_INT32;

const tables = [
  ...['trajectories', 'trajectory_starts'],
  ...['step_trajectories', 'collected_trajectories', 'discarded_trajectories', 'expired_attempts'],
];

const KEY = 'trajectory_id, attempt';
const seconds = (column: string): string => `toInt64(toUnixTimestamp(${column}))`;

/** All attempts, with start and end; the end is 0 for one that has only started. */
const attemptsSql = (rows: RowsOfState): string => `
  select state, ${KEY}, min(${seconds('started_at')}) as start_s, min(${seconds('finished_at')}) as end_s, min(version_first) as first_version
  from ${rows('trajectories', `${KEY}, started_at, finished_at, version_first`, OF_PURPOSE)} group by state, ${KEY}
  union all
  select state, ${KEY}, min(${seconds('occurred_at')}) as start_s, toInt64(0) as end_s, toInt32(-1) as first_version
  from ${rows('trajectory_starts', `${KEY}, occurred_at`, OF_PURPOSE)}
  where (state, ${KEY}) not in (select state, ${KEY} from ${rows('trajectories', KEY)})
  group by state, ${KEY}`;

/**
 * The fate of each attempt in the ledger: a decision takes precedence over a loss, and what is kept over a discard. Trajectories of a step
 * that a rewind abandoned are discarded.
 */
const decidedSql = (rows: RowsOfState, ofRewinds: string): string => `
  select state, ${KEY}, 1 as is_decided, min(told) as rank, max(told_staleness) as staleness, max(told_s) as decided_s from (
    select state, ${KEY}, if(step in (select arrayJoin(abandoned) from rewinds where ${ofRewinds}), 2, 0) as told,
      if(told = 0, staleness_total, toInt32(-1)) as told_staleness, toInt64(0) as told_s
    from ${rows('step_trajectories', `${KEY}, step, staleness_total`)}
    union all
    select state, ${KEY}, 1 as told, toInt32(-1) as told_staleness, toInt64(0) as told_s
    from ${rows('collected_trajectories', KEY)}
    union all
    select state, ${KEY}, 2 as told, toInt32(-1) as told_staleness, toInt64(0) as told_s
    from ${rows('discarded_trajectories', KEY)}
    union all
    select state, ${KEY}, 3 as told, toInt32(-1) as told_staleness, ${seconds('at')} as told_s
    from ${rows('expired_attempts', `${KEY}, at`)}
  ) group by state, ${KEY}`;

const secondsSql = (rows: RowsOfState, ofRewinds: string): string => `
  select state, point.1 as second, toInt64(sum(begins)) as began, toInt64(sum(not begins)) as ended,
    toInt64(sum(begins and fate = 0)) as trained, toInt64(sum(begins and fate = 1)) as collected,
    toInt64(sum(begins and fate = 2)) as discarded, toInt64(sum(begins and fate = 3)) as lost,
    max(if(begins and fate = 0, staleness, -1)) as staleness_max,
    min(if(begins and first_version >= 0, first_version, ${NO_VERSION})) as oldest, max(if(begins, last_s, 0)) as last
  from (
    select state, point, point.2 = 1 as begins, fate, staleness, first_version, last_s
    from (
      select state, start_s, if(end_s > 0, end_s, decided_s) as stop_s, greatest(start_s, end_s) as last_s, first_version,
        if(is_decided = 1, toInt32(rank), 4) as fate, staleness
      from (${attemptsSql(rows)}) as attempts
      left join (${decidedSql(rows, ofRewinds)}) as decided using (state, ${KEY})
    ) array join if(stop_s > 0, [(start_s, 1), (stop_s, 0)], [(start_s, 1)]) as point
  ) group by state, second`;

type SecondFigures = Readonly<FlowSecond>;

function addTo(state: FlowSeconds, row: SecondFigures, sign: 1 | -1): void {
  const known = state.get(row.second) ?? { ...EMPTY, second: row.second };
  state.set(row.second, known);
  for (const name of counted) known[name] += sign * row[name];
  if (sign < 0) return;
  known.staleness_max = Math.max(known.staleness_max, row.staleness_max);
  known.oldest = Math.min(known.oldest, row.oldest);
  known.last = Math.max(known.last, row.last);
}

const counted = ['began', 'ended', 'trained', 'collected', 'discarded', 'lost'] as const;
const EMPTY = {
  ...{ began: 0, ended: 0, trained: 0, collected: 0, discarded: 0, lost: 0 },
  ...{ staleness_max: -1, oldest: NO_VERSION, last: 0 },
};

/** True if the second has no fewer trained attempts and no newer oldest version than before: its extremes need not be computed again. */
const staysExtreme = (
  state: FlowSeconds,
  { second, trained, oldest }: SecondFigures,
  again: ReadonlyMap<number, SecondFigures>,
): boolean => {
  const now = again.get(second);
  return state.has(second) && (now?.trained ?? 0) >= trained && (now?.oldest ?? NO_VERSION) <= oldest;
};

type ReadSecond = SecondFigures & { readonly state: number };
type ReadSeconds = (sql: string, params: RowWindow['params']) => Promise<readonly ReadSecond[]>;

async function addSeconds(read: ReadSeconds, state: FlowSeconds, window: RowWindow): Promise<boolean> {
  const { clause, rows } = touchedAttempts(window, tables);
  const found = await read(`${clause} ${secondsSql(rows, window.until('rewinds'))}`, window.params);
  const [before, now] = [found.filter(({ state: own }) => own === WAS), found.filter(({ state: own }) => own === IS)];
  const again = new Map(now.map((row) => [row.second, row]));
  if (!before.every((row) => staysExtreme(state, row, again))) return false;
  for (const row of before) addTo(state, row, -1);
  for (const row of now) addTo(state, row, 1);
  return true;
}

/** A rewind changes the fate of attempts that have no rows to add. */
async function addsRewind(store: Store, { isFirst, filled, added, params }: RowWindow): Promise<boolean> {
  if (isFirst || !filled.includes('rewinds')) return false;
  const rewinds = await readRows<{ readonly version: number }>(store, `select version from ${added('rewinds')} limit 1`, params);
  return rewinds.length > 0;
}

/** The seconds of a run in which attempts of a purpose (empty: all but evaluations) started or ended. */
export async function readFlowSeconds(store: Store, run: string, purpose: string): Promise<readonly SecondFigures[]> {
  const spec: FoldSpec<FlowSeconds> = {
    ...{ name: `flow of ${purpose}`, run, tables: [...tables, 'rewinds'], empty: () => new Map() },
    add: async (state, window) => {
      if (await addsRewind(store, window)) return false;
      return addSeconds((sql, params) => readRows<ReadSecond>(store, sql, { ...params, purpose }), state, window);
    },
  };
  return [...(await foldedRun(store, spec)).values()];
}
