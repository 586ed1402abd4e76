import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { compare, contains, equals, paramsOf, readPage, type SqlCondition, type ListPage, type PageRequest } from '../list.ts';
import type { KeyKind } from '../cursor.ts';
import { fateColumns, readFates, type AttemptFate } from './fates.reader.ts';
import { trajectoryColumns } from './rollouts.columns.ts';

type TrajectoryRow = RowOf<typeof trajectoryColumns>;

/** Filters of a list of trajectories; all that are given must hold. */
export interface TrajectoryFilter {
  readonly status?: string | undefined;
  readonly purpose?: string | undefined;
  readonly group?: string | undefined;
  readonly question_id?: string | undefined;
  readonly worker?: string | undefined;
  readonly attempt?: number | undefined;
  readonly min_reward?: number | undefined;
  readonly max_reward?: number | undefined;
  readonly min_turns?: number | undefined;
  readonly max_turns?: number | undefined;
  /** Tokens that the policy made. */
  readonly min_tokens?: number | undefined;
  readonly max_tokens?: number | undefined;
  /** Trajectories that used a version in this range at any turn. */
  readonly min_version?: number | undefined;
  readonly max_version?: number | undefined;
  /** Trained in this step. */
  readonly step?: number | undefined;
  /** Trained in a step of this range. */
  readonly min_step?: number | undefined;
  readonly max_step?: number | undefined;
  /** Made such a tool call at any turn. */
  readonly tool?: string | undefined;
  readonly tool_status?: string | undefined;
  readonly error_type?: string | undefined;
  /** Part of the question's text. */
  readonly question?: string | undefined;
  /** What became of it: see `readFates`. */
  readonly fate?: string | undefined;
}

/** Columns that a list can be sorted by, under the names that requests use. */
const sortKeys = {
  finished_at: { finished_at: 'time' },
  reward: { reward: 'Float64' },
  turns: { turns: 'Int32' },
  tokens: { completion_tokens: 'Int64' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, KeyKind>>>>;

export type TrajectorySort = keyof typeof sortKeys;
export const trajectorySorts = Object.keys(sortKeys) as readonly TrajectorySort[];

/** How a list is sorted; the ids break ties. */
export interface TrajectoryOrder {
  readonly sort: TrajectorySort;
  readonly order: 'asc' | 'desc';
}

type TrajectoriesRequest = PageRequest &
  TrajectoryFilter &
  TrajectoryOrder & {
    /** Only what comes after this attempt in the order. */
    readonly beside?: { readonly trajectory_id: string; readonly attempt: number };
  };

/** Attempts that have finished, with their fate when `fields` names it. */
export async function listTrajectories(
  store: Store,
  run: string,
  request: TrajectoriesRequest,
): Promise<ListPage<TrajectoryRow & Partial<AttemptFate>>> {
  const named = request.fields?.filter((name) => !Object.hasOwn(fateColumns, name));
  if (named === undefined || named.length === request.fields?.length) return listAttempts(store, run, request);
  const page = await listAttempts(store, run, {
    ...request,
    fields: named.length === 0 ? undefined : [...named, 'trajectory_id', 'attempt'],
  });
  const fateOf = await readFates(store, run, page.items);
  return { ...page, items: page.items.map((row) => ({ ...row, ...fateOf(row) })) };
}

async function listAttempts(store: Store, run: string, request: TrajectoriesRequest): Promise<ListPage<TrajectoryRow>> {
  const key = { ...sortKeys[request.sort], trajectory_id: 'String', attempt: 'Int32' } as const;
  return readPage(
    store,
    { from: 'trajectories', columns: trajectoryColumns, key, direction: request.order, keysFirst: ['trajectory_id', 'attempt'] },
    {
      ...request,
      where: [
        ...equals('run_id', 'String', run),
        ...ownClauses(request),
        ...stepClauses(request),
        ...toolClauses(request),
        ...fateClauses(request.fate),
        ...besideClause(request),
      ],
    },
  );
}

/** An attempt that has not finished has no place in the list: then nothing comes after it. */
function besideClause({ beside, sort, order }: TrajectoriesRequest): readonly SqlCondition[] {
  if (beside === undefined) return [];
  const key = [...Object.keys(sortKeys[sort]), 'trajectory_id', 'attempt'].join(', ');
  const own = `(select (${key}) from trajectories where run_id = {run_id_is:String} and trajectory_id = {beside:String}
    and attempt = {beside_attempt:Int32} limit 1)`;
  return [
    {
      sql: `(${key}) ${order === 'asc' ? '>' : '<'} ${own}`,
      params: { beside: beside.trajectory_id, beside_attempt: beside.attempt },
    },
  ];
}

function ownClauses(filter: TrajectoryFilter): readonly SqlCondition[] {
  return [
    ...equals('status', 'String', filter.status),
    ...equals('purpose', 'String', filter.purpose),
    ...equals('group_id', 'String', filter.group),
    ...equals('question_id', 'String', filter.question_id),
    ...equals('worker_id', 'String', filter.worker),
    ...equals('attempt', 'Int32', filter.attempt),
    ...compare('reward', { sign: '>=', type: 'Float64' }, filter.min_reward),
    ...compare('reward', { sign: '<=', type: 'Float64' }, filter.max_reward),
    ...compare('turns', { sign: '>=', type: 'Int32' }, filter.min_turns),
    ...compare('turns', { sign: '<=', type: 'Int32' }, filter.max_turns),
    ...compare('completion_tokens', { sign: '>=', type: 'Int64' }, filter.min_tokens),
    ...compare('completion_tokens', { sign: '<=', type: 'Int64' }, filter.max_tokens),
    ...compare('version_last', { sign: '>=', type: 'Int32' }, filter.min_version),
    ...compare('version_first', { sign: '<=', type: 'Int32' }, filter.max_version),
    ...contains('question', filter.question),
  ];
}

function stepClauses(filter: TrajectoryFilter): readonly SqlCondition[] {
  const steps = [
    ...equals('step', 'Int32', filter.step),
    ...compare('step', { sign: '>=', type: 'Int32' }, filter.min_step),
    ...compare('step', { sign: '<=', type: 'Int32' }, filter.max_step),
  ];
  return steps.length === 0 ? [] : [attemptsIn('step_trajectories', steps)];
}

/** Attempts that have such a row in the other table, or have none there. `more` is a further condition, after `and`. */
const rowsIn = (table: string, { which = 'in', more = '' }: { readonly which?: 'in' | 'not in'; readonly more?: string } = {}): string =>
  `(trajectory_id, attempt) ${which} (select trajectory_id, attempt from ${table} where run_id = {run_id_is:String}${more})`;

const attemptsIn = (table: string, clauses: readonly SqlCondition[]): SqlCondition => ({
  sql: rowsIn(table, { more: clauses.map(({ sql }) => ` and ${sql}`).join('') }),
  params: paramsOf(clauses),
});

/** Steps that a rewind abandoned: an attempt that such a step trained on counts as discarded. */
const abandoned = '(select version from abandoned_versions where run_id = {run_id_is:String})';
const neither = (...tables: readonly string[]): string => tables.map((table) => rowsIn(table, { which: 'not in' })).join(' and ');
const undecided = neither('step_trajectories', 'collected_trajectories', 'discarded_trajectories');

/** An attempt that a step trained on is `trained`, even if the ledger also discards it. */
const fateSql: Readonly<Record<string, string>> = {
  trained: rowsIn('step_trajectories', { more: ` and step not in ${abandoned}` }),
  collected: rowsIn('collected_trajectories'),
  discarded: `(${rowsIn('discarded_trajectories')} or ${rowsIn('step_trajectories', { more: ` and step in ${abandoned}` })})
    and ${rowsIn('step_trajectories', { which: 'not in', more: ` and step not in ${abandoned}` })}
    and ${neither('collected_trajectories')}`,
  lost: `${rowsIn('expired_attempts')} and ${undecided}`,
  open: `${neither('expired_attempts')} and ${undecided}`,
};

function fateClauses(fate: string | undefined): readonly SqlCondition[] {
  const sql = fate === undefined ? undefined : fateSql[fate];
  return sql === undefined ? [] : [{ sql, params: {} }];
}

function toolClauses(filter: TrajectoryFilter): readonly SqlCondition[] {
  const calls = [
    ...equals('tool', 'String', filter.tool),
    ...equals('tool_status', 'String', filter.tool_status),
    ...equals('tool_error_type', 'String', filter.error_type),
  ];
  return calls.length === 0 ? [] : [attemptsIn('turns', calls)];
}
