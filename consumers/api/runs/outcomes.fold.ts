// What became of the trajectories of a run, as the number of outcomes with each value, kept up to date in blocks of steps. Outcomes are
// added to the newest steps, so only the newest block is read again. A range is the sum of its blocks, and of the steps at its ends.
import { groupBy } from '../../../streams/core/group-by.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import type { RowWindow } from '../row-window.ts';
import { foldedRun, type FoldSpec } from '../run-fold.ts';

export const countedFigures = ['reward', 'advantage', 'turns', 'tokens', 'staleness'] as const;
export type CountedFigure = (typeof countedFigures)[number];

/** Number of outcomes with each finite value; `reason` is empty for trained ones, which alone have an advantage. */
export interface CountsOfFigure {
  readonly reason: string;
  readonly figure: CountedFigure;
  readonly values: Float64Array;
  readonly counts: Float64Array;
}

/** Sums over the outcomes with a reason. */
export interface OutcomeSums {
  readonly reason: string;
  readonly n: number;
  readonly staleness: number;
  readonly flight_ms: number;
}

export interface OutcomesOfSteps {
  readonly counts: readonly CountsOfFigure[];
  readonly sums: readonly OutcomeSums[];
}

interface OutcomeBlocks {
  readonly byBlock: Map<number, OutcomesOfSteps>;
  /** Changes with every block. */
  version: number;
}

/** Counts the versions of all runs, so that a run that is read again gets a new one. */
let versions = 0;

/** Steps of a block; a range reads fewer than twice as many. */
const BLOCK_STEPS = 64;
const blockOf = (step: number): number => Math.floor(step / BLOCK_STEPS);

const unlessRepeated = (table: string): string =>
  `(run_id, _partition, _offset) not in (select run_id, _partition, _offset from ${table} where run_id = {run:String})`;

const isAbandoned = 'step in (select version from abandoned_versions where run_id = {run:String})';

/** A trajectory discarded at version v competed for step v + 1. Those of a step that a rewind abandoned are discarded. */
const outcomesSql = `
  select step, if(${isAbandoned}, 'rewound', '') as reason, reward,
    if(reason = '', step_trajectories.advantage, nan) as advantage, turns, tokens, staleness_total as staleness, flight_ms
  from step_trajectories where run_id = {run:String} and step between {first:Int32} and {last:Int32} and ${unlessRepeated('repeated_steps')}
  union all
  select toInt32(version + 1) as step, toString(reason) as reason, reward, nan as advantage, turns, tokens, staleness_total as staleness, flight_ms
  from discarded_trajectories
  where run_id = {run:String} and version >= {first:Int32} - 1 and version < {last:Int32} and ${unlessRepeated('repeated_discards')}`;

const BLOCK = `intDiv(step, ${BLOCK_STEPS})`;

const countsSql = `
  select block, reason, figure, groupArray(value) as values, groupArray(n) as counts, sum(flight) as flight_ms from (
    select ${BLOCK} as block, reason, measure.1 as figure, measure.2 as value, toUInt32(count()) as n, sum(flight_ms) as flight
    from (${outcomesSql}) array join [${countedFigures.map((figure) => `('${figure}', toFloat64(${figure}))`).join(', ')}] as measure
    where isFinite(value) group by block, reason, figure, value
  ) group by block, reason, figure`;

interface OutcomeRange {
  readonly first: number;
  readonly last: number;
}

interface ReadCounts extends Pick<CountsOfFigure, 'reason' | 'figure'> {
  readonly block: number;
  readonly values: readonly number[];
  readonly counts: readonly number[];
  readonly flight_ms: number;
}

/** Every outcome has a number of turns and a staleness. */
function sumsOf(rows: readonly ReadCounts[]): readonly OutcomeSums[] {
  const total = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);
  const staleness = new Map(rows.filter(({ figure }) => figure === 'staleness').map((row) => [row.reason, row]));
  return rows
    .filter(({ figure }) => figure === 'turns')
    .map(({ reason, counts, flight_ms }) => {
      const { values = [], counts: numbers = [] } = staleness.get(reason) ?? {};
      return { reason, n: total(counts), staleness: total(values.map((value, at) => value * (numbers[at] ?? 0))), flight_ms };
    });
}

/** The outcomes of some steps by block. */
async function readOutcomes(store: Store, run: string, range: OutcomeRange): Promise<ReadonlyMap<number, OutcomesOfSteps>> {
  const blocks = groupBy(await readRows<ReadCounts>(store, countsSql, { run, ...range }), ({ block }) => block);
  return new Map(
    [...blocks].map(([block, rows]) => {
      const counts = rows.map(({ reason, figure, ...own }) => ({
        ...{ reason, figure, values: Float64Array.from(own.values), counts: Float64Array.from(own.counts) },
      }));
      return [block, { counts, sums: sumsOf(rows) }];
    }),
  );
}

const addedStepsSql = ({ added }: RowWindow): string => `
  select distinct ${BLOCK} as block from (
    select step from ${added('step_trajectories')}
    union all
    select toInt32(version + 1) as step from ${added('discarded_trajectories')}
    union all
    select arrayJoin(abandoned) as step from ${added('rewinds')}
  )`;

/** A block is read with all of its rows, also those that came after this window. */
async function addOutcomes(store: Store, state: OutcomeBlocks, window: RowWindow): Promise<boolean> {
  const touched = await readRows<{ block: number }>(store, addedStepsSql(window), window.params);
  const blocks = touched.map(({ block }) => block);
  // a rewind may abandon no step
  if (blocks.length === 0) return true;
  const range = { first: Math.min(...blocks) * BLOCK_STEPS, last: (Math.max(...blocks) + 1) * BLOCK_STEPS - 1 };
  for (const [block, outcomes] of await readOutcomes(store, window.run, range)) state.byBlock.set(block, outcomes);
  state.version = versions += 1;
  return true;
}

const isWithin = (block: number, { first, last }: OutcomeRange): boolean =>
  block * BLOCK_STEPS >= first && (block + 1) * BLOCK_STEPS - 1 <= last;

/** The steps of a range that are in none of its whole blocks. */
function endsOf({ first, last }: OutcomeRange): readonly OutcomeRange[] {
  const [from, to] = [blockOf(first), blockOf(last)];
  if (from === to) return [{ first, last }].filter((range) => !isWithin(from, range));
  return [
    { first, last: (from + 1) * BLOCK_STEPS - 1 },
    { first: to * BLOCK_STEPS, last },
  ].filter((range) => !isWithin(blockOf(range.first), range));
}

interface OutcomesOfRange {
  /** In no order; they add up to the range. */
  readonly parts: readonly OutcomesOfSteps[];
  /** Changes when outcomes of the run do. */
  readonly version: number;
}

/** The outcomes of a range of steps. */
export async function readOutcomesOfRange(store: Store, run: string, range: OutcomeRange): Promise<OutcomesOfRange> {
  const spec: FoldSpec<OutcomeBlocks> = {
    ...{
      name: 'outcomes',
      run,
      tables: ['step_trajectories', 'discarded_trajectories', 'rewinds'],
      empty: () => ({ byBlock: new Map(), version: 0 }),
    },
    add: (state, window) => addOutcomes(store, state, window),
  };
  const { byBlock, version } = await foldedRun(store, spec);
  const blocks = [...byBlock].filter(([block]) => isWithin(block, range)).map(([, outcomes]) => outcomes);
  const known = { first: Math.min(...byBlock.keys()) * BLOCK_STEPS, last: (Math.max(...byBlock.keys()) + 1) * BLOCK_STEPS - 1 };
  const ends = endsOf(range).filter(({ first, last }) => first <= known.last && last >= known.first);
  const read = await Promise.all(ends.map((end) => readOutcomes(store, run, end)));
  return { parts: [...blocks, ...read.flatMap((found) => [...found.values()])], version };
}
