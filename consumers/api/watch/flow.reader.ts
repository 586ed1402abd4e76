// Trajectories of a run over wall-clock time, with their policy versions and outcomes. A response has columns of up to 50,000 trajectories,
// the newest of the range, so that a page can draw and zoom without further requests.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { OF_PURPOSE } from '../of-purpose.ts';

export const MOST_BARS = 50_000;
const MOST_MARKS = 5_000;

/**
 * `open`: finished, without a decision in the ledger yet. `running`: started and not ended. `lost`: given up, and not decided since.
 * `collected`: kept in a batch of a run that is not trained.
 */
export const flowFates = ['trained', 'discarded', 'lost', 'open', 'running', 'collected'] as const;
type FlowFate = (typeof flowFates)[number];

export const flowFigures = [
  ...['attempt', 'start_ms', 'end_ms', 'decided_ms', 'version_first', 'version_last', 'step', 'staleness'],
  ...['worker', 'fate', 'reason'],
] as const;
type FlowFigure = (typeof flowFigures)[number];

export interface FlowRange {
  /** RFC 3339. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Default: everything except evaluations, which are never trained on. */
  readonly purpose?: string | undefined;
  readonly limit: number;
}

interface Bar {
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly worker_id: string;
  readonly start_ms: number;
  /** 0 while the attempt is running. */
  readonly end_ms: number;
  readonly version_first: number;
  readonly version_last: number;
}

interface FlowDecision {
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly fate: 'trained' | 'collected' | 'discarded' | 'lost';
  readonly reason: string;
  readonly step: number;
  readonly staleness: number;
  readonly at_ms: number;
}

/** Rows as one array per column: for tens of thousands of rows, this is a fifth of the text and needs no object per row. */
export type RowColumns<T> = { readonly [K in keyof T]: readonly T[K][] };

async function readColumns<T extends object>(
  store: Store,
  names: readonly (keyof T & string)[],
  { sql, params }: { readonly sql: string; readonly params: Readonly<Record<string, unknown>> },
): Promise<RowColumns<T>> {
  const arrays = names.map((name) => `groupArray(${name}) as ${name}`).join(', ');
  const [columns] = await readRows<RowColumns<T>>(store, `select ${arrays} from (${sql})`, params);
  return columns ?? noColumns(names);
}

const noColumns = <T extends object>(names: readonly (keyof T & string)[]): RowColumns<T> =>
  Object.fromEntries(names.map((name) => [name, []])) as unknown as RowColumns<T>;

const barNames = ['trajectory_id', 'attempt', 'worker_id', 'start_ms', 'end_ms', 'version_first', 'version_last'] as const;
const decisionNames = ['trajectory_id', 'attempt', 'fate', 'reason', 'step', 'staleness', 'at_ms'] as const;

const inRange = (column: string, { from, to }: FlowRange): string =>
  [
    ...(from === undefined ? [] : [`${column} >= parseDateTime64BestEffort({from:String}, 6, 'UTC')`]),
    ...(to === undefined ? [] : [`${column} <= parseDateTime64BestEffort({to:String}, 6, 'UTC')`]),
  ]
    .map((sql) => ` and ${sql}`)
    .join('');

const rangeParams = ({ from, to }: FlowRange): Readonly<Record<string, string>> => ({
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to }),
});

const ms = (column: string): string => `toUnixTimestamp64Milli(${column})`;
const micros = (column: string): string => `toUnixTimestamp64Micro(${column})`;

/** When the oldest attempt of the page started, in µs; undefined when the page has room for all of the range. */
async function readOldest(store: Store, run: string, range: FlowRange): Promise<number | undefined> {
  const [oldest] = await readRows<{ at: number }>(
    store,
    `select ${micros('min(started_at)')} as at from (
       select started_at from trajectories where run_id = {run:String} and ${OF_PURPOSE}${inRange('started_at', range)}
       order by started_at desc limit {most:UInt32}
     ) having count() = {most:UInt32}`,
    { run, most: range.limit + 1, purpose: range.purpose ?? '', ...rangeParams(range) },
  );
  return oldest?.at;
}

/** The newest attempts that started in the range, in order of their start. An ended one is in both tables, and ended after its start. */
async function readBars(store: Store, run: string, range: FlowRange & { readonly oldest: number | undefined }): Promise<RowColumns<Bar>> {
  const { oldest } = range;
  const since = (column: string): string => (oldest === undefined ? '' : ` and ${column} >= fromUnixTimestamp64Micro({since:Int64})`);
  const started = (column: string): string => `run_id = {run:String} and ${OF_PURPOSE}${inRange(column, range)}${since(column)}`;
  const params = { run, most: range.limit + 1, purpose: range.purpose ?? '', ...rangeParams(range) };
  return readColumns<Bar>(store, barNames, {
    sql: `select * from (select ${barNames.join(', ')} from (
       select trajectory_id, attempt, toString(worker_id) as worker_id, ${ms('started_at')} as start_ms, ${ms('finished_at')} as end_ms,
         version_first, version_last
       from trajectories where ${started('started_at')}
       union all
       select trajectory_id, attempt, toString(worker_id) as worker_id, ${ms('occurred_at')} as start_ms, toInt64(0) as end_ms,
         toInt32(-1) as version_first, toInt32(-1) as version_last
       from trajectory_starts where ${started('occurred_at')}
         and (trajectory_id, attempt) not in (select trajectory_id, attempt from trajectories where run_id = {run:String}${since('finished_at')})
     )
     order by start_ms desc, trajectory_id desc, attempt desc limit 1 by trajectory_id, attempt limit {most:UInt32}
     ) order by start_ms, trajectory_id, attempt`,
    params: { ...params, ...(oldest === undefined ? {} : { since: oldest }) },
  });
}

/** Ledger decisions about attempts that started at `sinceMs` or later. Decisions are later than starts, so earlier ones are not read. */
async function readDecisions(store: Store, run: string, sinceMs: number): Promise<RowColumns<FlowDecision>> {
  const since = `run_id = {run:String} and at >= fromUnixTimestamp64Milli({since:Int64})`;
  return readColumns<FlowDecision>(store, decisionNames, {
    sql: `select trajectory_id, attempt,
       if(step in (select version from abandoned_versions where run_id = {run:String}), 'discarded', 'trained') as fate,
       if(fate = 'trained', '', 'rewound') as reason, step, staleness_total as staleness, ${ms('at')} as at_ms
     from step_trajectories where ${since}
     union all
     select trajectory_id, attempt, 'collected' as fate, '' as reason, batch as step, staleness_total as staleness, ${ms('at')} as at_ms
     from collected_trajectories where ${since}
     union all
     select trajectory_id, attempt, 'discarded' as fate, toString(reason) as reason, toInt32(version + 1) as step, staleness_total as staleness, ${ms('at')} as at_ms
     from discarded_trajectories where ${since}
     union all
     select trajectory_id, attempt, 'lost' as fate, toString(reason) as reason, toInt32(-1) as step, toInt32(-1) as staleness, ${ms('at')} as at_ms
     from expired_attempts where ${since}`,
    params: { run, since: sinceMs },
  });
}

interface VersionMark {
  readonly number: number;
  readonly at_ms: number;
}

/** Times of the newest versions or steps of the range, newest first, without duplicates. */
const readMarks = async (
  store: Store,
  of: { readonly table: string; readonly column: string; readonly time: string },
  span: { readonly run: string; readonly since: number; readonly until: number },
): Promise<readonly VersionMark[]> =>
  readRows<VersionMark>(
    store,
    `select ${of.column} as number, min(${ms(of.time)}) as at_ms from ${of.table} where run_id = {run:String}
     group by number having at_ms between {since:Int64} and {until:Int64} order by number desc limit ${MOST_MARKS}`,
    span,
  );

/** The range extends past the last trajectory, because decisions come later. */
const AFTER_MS = 3_600_000;

/** First finds from one column when the oldest attempt of a full page started; all else is then read from that time on. */
export async function readFlow(store: Store, run: string, range: FlowRange) {
  const oldest = await readOldest(store, run, range);
  const [read, early, bounds] = await Promise.all([
    readBars(store, run, { ...range, oldest }),
    oldest === undefined ? undefined : readDecisions(store, run, Math.floor(oldest / 1_000)),
    readRows<{ bound: number }>(
      store,
      "select max_staleness as bound from run_events where run_id = {run:String} and event = 'started' limit 1",
      { run },
    ),
  ]);
  const extra = Math.max(0, read.trajectory_id.length - range.limit);
  const bars = Object.fromEntries(barNames.map((name) => [name, read[name].slice(extra)])) as unknown as RowColumns<Bar>;
  const since = bars.start_ms[0] ?? 0;
  const until = bars.end_ms.reduce((most, end, at) => Math.max(most, end, bars.start_ms[at] ?? 0), since);
  const span = { run, since, until: until + AFTER_MS };
  const none = bars.start_ms.length === 0 ? noColumns<FlowDecision>(decisionNames) : undefined;
  const [decisions, versions, steps] = await Promise.all([
    early ?? none ?? readDecisions(store, run, since),
    readMarks(store, { table: 'policies', column: 'version', time: 'occurred_at' }, span),
    readMarks(store, { table: 'steps', column: 'step', time: 'at' }, span),
  ]);
  return {
    run_id: run,
    trajectories: bars.start_ms.length,
    is_whole: oldest === undefined && extra === 0,
    max_staleness: bounds[0]?.bound ?? null,
    ...columnsOf(bars, decisions),
    versions: marksOf(versions),
    steps: marksOf(steps),
  };
}

const marksOf = (marks: readonly VersionMark[]) => ({
  numbers: marks.map(({ number }) => number).reverse(),
  at_ms: marks.map(({ at_ms }) => at_ms).reverse(),
});

/** Indexes of texts in a growing list. */
function placesIn(list: string[]): (text: string) => number {
  const known = new Map(list.map((text, at) => [text, at]));
  return (text) => {
    const at = known.get(text) ?? list.push(text) - 1;
    known.set(text, at);
    return at;
  };
}

const keyAt = ({ attempt, trajectory_id }: RowColumns<Pick<Bar, 'attempt' | 'trajectory_id'>>, at: number): string =>
  `${attempt[at] ?? 0} ${trajectory_id[at] ?? ''}`;

/** Index of the decision about each attempt, or -1. What is kept takes precedence over discarded, and a decision over a loss. */
function decidedAt(bars: RowColumns<Bar>, decisions: RowColumns<FlowDecision>): readonly number[] {
  const rank = { lost: 0, discarded: 1, collected: 2, trained: 3 } as const;
  const rankAt = (at: number | undefined): number => (at === undefined ? -1 : rank[decisions.fate[at] ?? 'lost']);
  const known = new Map<string, number>();
  for (const at of decisions.fate.keys()) {
    const key = keyAt(decisions, at);
    if (rankAt(known.get(key)) < rankAt(at)) known.set(key, at);
  }
  return bars.attempt.map((_, at) => known.get(keyAt(bars, at)) ?? -1);
}

/** The columns of the response, with the outcome of each attempt. */
export function columnsOf(bars: RowColumns<Bar>, decisions: RowColumns<FlowDecision>) {
  const places = decidedAt(bars, decisions);
  const decided = (column: readonly number[], none: number): readonly number[] => places.map((at) => column[at] ?? none);
  const workers: string[] = [];
  // index 0 is the empty reason
  const reasons: string[] = [''];
  const fateAt = (place: number, at: number): FlowFate => decisions.fate[place] ?? (bars.end_ms[at] === 0 ? 'running' : 'open');
  const columns: Readonly<Record<FlowFigure, readonly number[]>> = {
    ...{ attempt: bars.attempt, start_ms: bars.start_ms, end_ms: bars.end_ms, decided_ms: decided(decisions.at_ms, 0) },
    ...{ version_first: bars.version_first, version_last: bars.version_last },
    ...{ step: decided(decisions.step, -1), staleness: decided(decisions.staleness, -1) },
    worker: bars.worker_id.map(placesIn(workers)),
    fate: places.map((place, at) => flowFates.indexOf(fateAt(place, at))),
    reason: places.map((place) => decisions.reason[place] ?? '').map(placesIn(reasons)),
  };
  return { fates: [...flowFates], reasons, workers, ids: bars.trajectory_id, columns };
}
