// The rows that a fold adds at a time, as conditions on the offsets of its tables.

/** Rows to add to a fold, by table. */
export interface RowWindow {
  /** No row was added before. */
  readonly isFirst: boolean;
  readonly run: string;
  /** Tables that have rows of the run. */
  readonly filled: readonly string[];
  /** Rows to add: the table with its conditions; more can follow after `and`. */
  readonly added: (table: string) => string;
  /** Condition on rows that were added before. */
  readonly before: (table: string) => string;
  /** Condition on rows that were added before or are to add. */
  readonly until: (table: string) => string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Offset of the newest row, by partition. */
type PartitionEnds = ReadonlyMap<number, number>;

export interface AddedRows {
  readonly rows: number;
  readonly ends: PartitionEnds;
}

/** By table. */
export type FoldedTables = ReadonlyMap<string, AddedRows>;

export const NOTHING: AddedRows = { rows: 0, ends: new Map() };

const OFFSETS = { before: 'since', until: 'until' } as const;

/** Rows of a table up to the offsets that are bound under a name. */
const upTo = (table: string, offsets: keyof typeof OFFSETS): string =>
  `_offset <= transform(_partition, {${table}_partitions:Array(Int32)}, {${table}_${OFFSETS[offsets]}:Array(Int64)}, toInt64(-1))`;

/** Offsets in PREWHERE are rounded down to this: while the condition stays the same, the engine remembers granules without added rows. */
const COARSE = 16_384;

/** The table with the condition that a row comes after the known ones. PREWHERE has what stays the same from one request to the next. */
export const behind = (table: string): string =>
  `${table} prewhere run_id = {run:String} and _offset >= {${table}_least:Int64} where not (${upTo(table, 'before')})`;

export function offsetParams(table: string, before: PartitionEnds, until: PartitionEnds): Readonly<Record<string, unknown>> {
  // an empty array has no type
  const partitions = until.size === 0 ? [-1] : [...until.keys()];
  const since = partitions.map((partition) => before.get(partition) ?? -1);
  return {
    [`${table}_partitions`]: partitions,
    [`${table}_since`]: since,
    [`${table}_until`]: partitions.map((partition) => until.get(partition) ?? -1),
    [`${table}_least`]: Math.floor(Math.min(...since) / COARSE) * COARSE,
  };
}

/** All tables of `until` are in `before`. */
export function windowOf(run: string, before: FoldedTables, until: FoldedTables): RowWindow {
  const ofRun = (condition: string): string => `run_id = {run:String} and ${condition}`;
  return {
    isFirst: false,
    run,
    filled: [...until].filter(([, { rows }]) => rows > 0).map(([table]) => table),
    before: (table) => ofRun(upTo(table, 'before')),
    added: (table) => `${behind(table)} and ${upTo(table, 'until')}`,
    until: (table) => ofRun(upTo(table, 'until')),
    params: Object.assign(
      { run },
      ...[...until].map(([table, { ends }]) => offsetParams(table, before.get(table)?.ends ?? NOTHING.ends, ends)),
    ) as Record<string, unknown>,
  };
}

/** Selects rows that fulfill a condition, with `state`: `WAS` or `IS`. A row that was added before is returned twice, once with each. */
export type RowsOfState = (table: string, columns: string, condition?: string) => string;

/** The rows of the attempts that have rows to add, before and after these are added. */
interface TouchedAttempts {
  /** Precedes a statement. */
  readonly clause: string;
  readonly rows: RowsOfState;
}

export const [WAS, IS] = [0, 1];

/** For figures of attempts that have rows in several tables: an added row changes how its attempt counts. */
export function touchedAttempts({ isFirst, before, added, until }: RowWindow, tables: readonly string[]): TouchedAttempts {
  if (isFirst) {
    return {
      clause: '',
      rows: (table, columns, condition = '1') => `(select ${columns}, ${IS} as state from ${table} where ${until(table)} and ${condition})`,
    };
  }
  const all = tables.map((table) => `select trajectory_id, attempt from ${added(table)}`).join('\n    union all ');
  return {
    // found once per statement, however often it is used
    clause: `with (select groupUniqArray((trajectory_id, attempt)) from (\n    ${all}\n  )) as touched`,
    rows: (table, columns, condition = '1') => `(
      select ${columns}, state from ${table} array join if(${before(table)}, [${WAS}, ${IS}], [${IS}]) as state
      where ${until(table)} and (trajectory_id, attempt) in (select one.1, one.2 from (select arrayJoin(touched) as one)) and ${condition}
    )`,
  };
}
