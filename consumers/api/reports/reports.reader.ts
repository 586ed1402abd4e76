import type { Store } from '../../../streams/core/ports.ts';
import { byText } from '../by-text.ts';
import { selectList, type ColumnKinds, type RowOf } from '../columns.ts';
import { compare, equals, readPage, readRows, type ListPage, type PageRequest } from '../list.ts';
import type { Purpose } from '../values.ts';
import { comparedEntries, comparing } from './compare.sql.ts';
import {
  costColumns,
  differenceColumns,
  lengthColumns,
  runQuestionColumns,
  toolChangeColumns,
  wallClockColumns,
  type compareColumns,
} from './reports.columns.ts';
import { readFlight } from './flights.fold.ts';
import { costSql, lengthsSql, runQuestionsSql, toolChangesSql } from './reports.sql.ts';
import { wallClockWith } from './wall-clock.sql.ts';

type Params = Readonly<Record<string, string | number>>;

/** The rows of a statement, typed by its columns. */
async function report<C extends ColumnKinds>(
  store: Store,
  { sql, columns }: { readonly sql: string; readonly columns: C },
  params: Params,
): Promise<readonly RowOf<C>[]> {
  return readRows<RowOf<C>>(store, `select ${selectList(columns)} from (${sql})`, params);
}

/** A run, and the purpose of the attempts to include. */
export interface RunPart {
  readonly run: string;
  readonly purpose: Purpose | undefined;
}

/** An empty purpose selects the statement's default. */
const partOf = ({ run, purpose }: RunPart): Params => ({ run, purpose: purpose ?? '' });

/** Calls before and since a step, by tool and error type (empty: successful calls); the largest slowdown comes first. */
export const readToolChanges = (store: Store, part: RunPart, step: number): Promise<readonly RowOf<typeof toolChangeColumns>[]> =>
  report(store, { sql: toolChangesSql, columns: toolChangeColumns }, { ...partOf(part), step });

export interface LengthReport {
  readonly items: readonly RowOf<typeof lengthColumns>[];
  /**
   * The change in mean reward from the first to the last quarter of the versions is the sum of two parts: `by_length` comes from a change
   * in the lengths of trajectories, and `at_same_length` from a change in the reward of trajectories of equal length.
   */
  readonly by_length: number;
  readonly at_same_length: number;
}

export async function readLengths(store: Store, part: RunPart): Promise<LengthReport> {
  const items = await report(store, { sql: lengthsSql, columns: lengthColumns }, partOf(part));
  const total = (name: 'by_length' | 'at_same_length'): number => items.reduce((sum, item) => sum + (item[name] ?? 0), 0);
  return { items, by_length: total('by_length'), at_same_length: total('at_same_length') };
}

export async function readWallClock(
  store: Store,
  part: RunPart,
  range: { readonly from_step: number; readonly to_step: number },
): Promise<readonly RowOf<typeof wallClockColumns>[]> {
  const flight = await readFlight(store, { run: part.run, purpose: part.purpose ?? '' }, range);
  return report(
    store,
    { sql: wallClockWith('    SELECT {flight:Int64} AS flight'), columns: wallClockColumns },
    { ...partOf(part), ...range, flight },
  );
}

type Difference = RowOf<typeof differenceColumns>;
type ComparedEntry = RowOf<typeof compareColumns>;

/** Settings and results of a run beside those of others, differences first. */
export async function readComparison(store: Store, run: string, others: readonly string[]): Promise<readonly ComparedEntry[]> {
  return besideEachOther(await Promise.all(others.map(async (other) => readDifferences(store, run, other))));
}

/** The rows of `compareSql`; its parts are read in parallel. */
async function readDifferences(store: Store, run: string, other: string): Promise<readonly Difference[]> {
  const parts = comparedEntries.map((entries) => report(store, { sql: comparing([entries]), columns: differenceColumns }, { run, other }));
  return (await Promise.all(parts)).flat();
}

/** One row per setting or result, from the comparisons of one run with each other run. A run that lacks it has an empty value. */
export function besideEachOther(comparisons: readonly (readonly Difference[])[]): readonly ComparedEntry[] {
  const keyOf = ({ kind, name }: Difference): string => `${kind} ${name}`;
  const of = comparisons.map((rows) => new Map(rows.map((row) => [keyOf(row), row])));
  const all = new Map(comparisons.flat().map((row) => [keyOf(row), row]));
  const rows = [...all].map(([key, { kind, name, this_run }]) => {
    const other_runs = of.map((known) => known.get(key)?.other_run ?? '');
    return { kind, name, this_run, other_run: other_runs[0] ?? '', differs: other_runs.some((value) => value !== this_run), other_runs };
  });
  return rows.sort(byDifference);
}

const byDifference = (a: ComparedEntry, b: ComparedEntry): number =>
  Number(b.differs) - Number(a.differs) || byText(b.kind, a.kind) || byText(a.name, b.name);

/** Questions that the run attempted, by id. */
export async function listRunQuestions(
  store: Store,
  part: RunPart,
  request: PageRequest & {
    readonly outcome?: string | undefined;
    readonly min_tries?: number | undefined;
    readonly min_flips?: number | undefined;
  },
): Promise<ListPage<RowOf<typeof runQuestionColumns>>> {
  const where = [
    { sql: '1', params: partOf(part) },
    ...equals('outcome', 'String', request.outcome),
    ...compare('tries', { sign: '>=', type: 'Int64' }, request.min_tries),
    ...compare('flips', { sign: '>=', type: 'Int64' }, request.min_flips),
  ];
  const spec = { from: `(${runQuestionsSql})`, columns: runQuestionColumns, key: { question_id: 'String' }, direction: 'asc' } as const;
  return readPage(store, spec, { ...request, where });
}

/** Cost per point of reward, by the version at which trajectories began, in ascending order. */
export async function listCosts(store: Store, part: RunPart, request: PageRequest): Promise<ListPage<RowOf<typeof costColumns>>> {
  const spec = { from: `(${costSql})`, columns: costColumns, key: { version: 'Int32' }, direction: 'asc' } as const;
  return readPage(store, spec, { ...request, where: [{ sql: '1', params: partOf(part) }] });
}
