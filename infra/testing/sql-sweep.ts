// Tries every name that the running engine has (functions, combinators, table functions, types, settings, formats, collations, system
// tables) at every position of a statement, and reports names that are allowed without being on a list. The names of a new engine version
// are either rejected or reported here.
import { SYSTEM_TABLES } from '../../consumers/api/sql/decide.ts';
import { isAllowedAggregate, isAllowedFunction, isAllowedTableFunction } from '../../consumers/api/sql/functions.ts';
import { judge } from '../../consumers/api/sql/sandbox.ts';
import { isCollation } from '../../consumers/api/sql/collations.ts';
import { isAllowedType } from '../../consumers/api/sql/types.ts';
import { readVocabulary } from '../../consumers/api/sql/vocabulary.ts';
import { isPlatformError, messageOf } from '../../streams/core/errors.ts';
import type { Store } from '../../streams/core/ports.ts';
import * as positions from './sql-positions.ts';

export interface Swept {
  readonly kind: string;
  readonly names: number;
  readonly statements: number;
  /** `position: statement` of each statement that should have been rejected. */
  readonly holes: readonly string[];
}

interface Sweep {
  readonly kind: string;
  /** A query with one column, `name`. */
  readonly names: string;
  readonly positions: readonly positions.SqlPosition[];
  readonly isListed: (name: string) => boolean;
  readonly every?: number;
}

const FUNCTIONS = 'select name from system.functions';
const TABLE_FUNCTIONS = 'select name from system.table_functions where lower(name) not in (select lower(name) from system.functions)';
const COLLATIONS =
  "select name from system.collations union all select arrayJoin(['de@collation=phonebook', '../de', 'de_DE', '']) as name";
const COMBINED = `select arrayJoin([concat(name, suffix), concat(name, suffix, 'If')]) as name from
  (select name from system.functions where is_aggregate) as functions,
  (select name as suffix from system.aggregate_function_combinators) as combinators`;

/** With `every`, one check covers all names of the kind, so CI tries only one name in `every`. */
const sweeps: readonly Sweep[] = [
  { kind: 'functions', names: FUNCTIONS, positions: positions.functionPositions, isListed: isAllowedFunction },
  { kind: 'functions in texts', names: FUNCTIONS, positions: positions.namedInText, isListed: isAllowedAggregate, every: 8 },
  { kind: 'functions in types', names: FUNCTIONS, positions: positions.namedInTypes, isListed: () => false, every: 8 },
  { kind: 'combinators', names: COMBINED, positions: positions.aggregatePositions, isListed: isAllowedFunction, every: 8 },
  {
    kind: 'table functions as functions',
    names: TABLE_FUNCTIONS,
    positions: positions.functionPositions.filter(({ declares }) => declares !== true),
    isListed: (name) => isAllowedFunction(name) || isAllowedTableFunction(name),
  },
  {
    kind: 'table functions',
    names: 'select name from system.table_functions',
    positions: positions.tableFunctionPositions,
    isListed: isAllowedTableFunction,
  },
  { kind: 'types', names: 'select name from system.data_type_families', positions: positions.typePositions, isListed: isAllowedType },
  { kind: 'settings', names: 'select name from system.settings', positions: positions.settingPositions, isListed: () => false, every: 32 },
  { kind: 'formats', names: 'select name from system.formats', positions: positions.formatPositions, isListed: () => false },
  { kind: 'collations', names: COLLATIONS, positions: positions.collationPositions, isListed: isCollation },
  {
    kind: 'system tables',
    names: "select name from system.tables where database = 'system'",
    positions: positions.tablePositions,
    isListed: (name) => SYSTEM_TABLES.has(name),
  },
];

/** `dense`: tries only the subset that CI has time for. */
export async function sweepNames(store: Store, options: { readonly dense: boolean; readonly lanes: number }): Promise<readonly Swept[]> {
  const results: Swept[] = [];
  const { names } = await readVocabulary(store, { version: '', fresh: true });
  for (const sweep of sweeps) results.push(await sweepOne(store, sweep, { ...options, ours: names }));
  return results;
}

/** `ours`: tables and columns of the project's database, which a bare name may read. */
interface SweepOptions {
  readonly dense: boolean;
  readonly lanes: number;
  readonly ours: ReadonlySet<string>;
}

async function sweepOne(store: Store, sweep: Sweep, options: SweepOptions): Promise<Swept> {
  const every = options.dense ? (sweep.every ?? 1) : 1;
  const rows = await store.query<{ name: string }>(`select distinct name from (${sweep.names}) order by name`);
  const names = rows.map(({ name }) => name).filter((name, at) => !sweep.isListed(name) && at % every === 0);
  const cases = names.flatMap((name) =>
    sweep.positions
      .filter(({ rare }) => !options.dense || rare !== true)
      .filter(({ reads, as = (it) => it }) => !(reads === true && options.ours.has(name)) && !sweep.isListed(as(name)))
      .map(({ position, write }) => ({ position, query: write(name) })),
  );
  const holes: string[] = [];
  const left = cases.values();
  const lane = async (): Promise<void> => {
    for (const { position, query } of left) if (!(await isRefused(store, query))) holes.push(`${position}: ${query}`);
  };
  await Promise.all(Array.from({ length: options.lanes }, lane));
  return { kind: sweep.kind, names: names.length, statements: cases.length, holes };
}

/** Whether the query is rejected. Throws when the check itself fails. */
async function isRefused(store: Store, query: string): Promise<boolean> {
  try {
    await judge(store, { query, params: { path: '1' } });
    return false;
  } catch (error) {
    if (isPlatformError(error, 'SQL_REFUSED') || isPlatformError(error, 'SQL_INVALID') || isPlatformError(error, 'STORE_REFUSED'))
      return true;
    throw error;
  }
}

const LAMBDAS = ["lower, ['a']", "['a'], lower", "lower, map('a', 'b')", 'plus, [1], [2]', "lower, 'a'", "'a', lower", "lower, 1, ['a']"];

/**
 * Allowed functions that take the bare name of another function as a lambda, except those whose names begin with `array` or `map`: the
 * sandbox recognizes these by the prefix.
 */
export async function unknownTakersOfLambdas(store: Store): Promise<readonly string[]> {
  const rows = await store.query<{ name: string }>('select name from system.functions where not is_aggregate order by name');
  const others = rows.map(({ name }) => name).filter((name) => isAllowedFunction(name) && !/^(?:array|map)/i.test(name));
  const takers: string[] = [];
  for (const name of others) {
    for (const args of LAMBDAS) {
      const said = await store.query(`select \`${name}\`(${args})`).then(
        () => 'taken',
        (error: unknown) => messageOf(error),
      );
      if (said === 'taken' || /lambda|must be a function/i.test(said)) takers.push(`${name}(${args})`);
    }
  }
  return takers;
}
