// Keeps figures of a run that are sums over its rows. The first request reads the run; later ones read only the rows that came since, so
// their cost does not depend on the length of the run. Rows are only ever added, and of each partition in order of offset. Each request
// checks this: if rows were deleted, changed, or stored late, it reads everything again.
import { isPlatformError } from '../../streams/core/errors.ts';
import type { Store } from '../../streams/core/ports.ts';
import { readRows } from './list.ts';
import { createMemo, type Memo } from './memo.ts';
import { behind, NOTHING, offsetParams, windowOf, type FoldedTables, type RowWindow } from './row-window.ts';

export interface FoldSpec<S> {
  /** Distinguishes folds of a run. */
  readonly name: string;
  readonly run: string;
  readonly tables: readonly string[];
  readonly empty: () => S;
  /** Adds the rows. Resolves to false if they cannot be added to this state, so that everything is read again. */
  readonly add: (state: S, window: RowWindow) => Promise<boolean>;
}

/** Inserts into a table and mutations of it, for all runs. Merges do not change it. */
interface TableStamp {
  /** Changes when rows are added, changed, or deleted. */
  readonly contents: string;
  /** Changes when rows are changed. */
  readonly mutations: string;
}

type TableStamps = ReadonlyMap<string, TableStamp>;

interface Folded<S> {
  readonly state: S;
  readonly stamps: TableStamps;
  readonly tables: FoldedTables;
}

const NO_STAMP: TableStamp = { contents: '', mutations: '' };

class RunFold<S> {
  readonly #store: Store;
  readonly #spec: FoldSpec<S>;
  #folded: Folded<S> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(store: Store, spec: FoldSpec<S>) {
    this.#store = store;
    this.#spec = spec;
  }

  /** Concurrent callers are served one after the other. */
  current(): Promise<S> {
    const made = this.#turn.then(() => this.#update());
    this.#turn = made.catch(() => undefined);
    return made;
  }

  async #update(): Promise<S> {
    const stamps = await readStamps(this.#store, this.#spec.tables);
    const known = this.#folded;
    // a failure in the middle leaves no partial state
    this.#folded = undefined;
    const folded =
      (known !== undefined && stamps !== undefined ? await this.#renew(known, stamps) : undefined) ?? (await this.#start(stamps));
    this.#folded = stamps === undefined ? undefined : folded;
    return folded.state;
  }

  async #renew(known: Folded<S>, stamps: TableStamps): Promise<Folded<S> | undefined> {
    if (this.#differing(known.stamps, stamps, 'contents').length === 0) return known;
    return this.#differing(known.stamps, stamps, 'mutations').length === 0 ? this.#extend(known, stamps) : undefined;
  }

  #differing(before: TableStamps, now: TableStamps, what: keyof TableStamp): readonly string[] {
    return this.#spec.tables.filter((table) => (before.get(table) ?? NO_STAMP)[what] !== (now.get(table) ?? NO_STAMP)[what]);
  }

  async #start(stamps: TableStamps = new Map()): Promise<Folded<S>> {
    const { run, tables: names, empty, add } = this.#spec;
    const none: FoldedTables = new Map(names.map((name) => [name, NOTHING]));
    const { added } = await readAdded(this.#store, { run, names }, none);
    const state = empty();
    if (hasRows(added)) await add(state, { ...windowOf(run, none, added), isFirst: true });
    return { state, stamps, tables: added };
  }

  /** Undefined if anything but rows after the known ones changed. */
  async #extend({ state, stamps: before, tables: known }: Folded<S>, stamps: TableStamps): Promise<Folded<S> | undefined> {
    const { run, add } = this.#spec;
    const names = this.#differing(before, stamps, 'contents');
    for (let tries = 0; tries < TRIES; tries += 1) {
      const { counts, added } = await readAdded(this.#store, { run, names }, known);
      const tables = joined(known, added);
      if (names.some((name) => tables.get(name)?.rows !== counts.get(name))) continue;
      const fits = !hasRows(added) || (await add(state, windowOf(run, known, tables)));
      return fits ? { state, stamps, tables } : undefined;
    }
    return undefined;
  }
}

/** A row that is inserted while the rows are counted looks like one that was stored late, but only once. */
const TRIES = 2;

const hasRows = (tables: FoldedTables): boolean => [...tables.values()].some(({ rows }) => rows > 0);

const joined = (known: FoldedTables, added: FoldedTables): FoldedTables =>
  new Map(
    [...known].map(([name, { rows, ends }]) => {
      const more = added.get(name) ?? NOTHING;
      return [name, { rows: rows + more.rows, ends: new Map([...ends, ...more.ends]) }];
    }),
  );

/** Undefined if the store does not report them: with tables of other engines, or for a user who may not read system tables. */
async function readStamps(store: Store, tables: readonly string[]): Promise<TableStamps | undefined> {
  const rows = await readRows<TableStamp & { readonly name: string; readonly is_told: boolean | number }>(
    store,
    `select name, toString(arraySort(groupArrayIf(one, is_mutation))) as mutations, toString(arraySort(groupArray(one))) as contents,
       min(is_own) as is_told
     from (
       select table as name, true as is_own, false as is_mutation, toString((partition_id, sum(rows), max(max_block_number))) as one
       from system.parts
       where database = currentDatabase() and active and table in {tables:Array(String)} group by table, partition_id
       union all
       select table as name, true as is_own, true as is_mutation, toString((sum(cityHash64(mutation_id)), countIf(is_done))) as one
       from system.mutations
       where database = currentDatabase() and table in {tables:Array(String)} group by table
       union all
       select name, engine like '%MergeTree' as is_own, false as is_mutation, '' as one
       from system.tables
       where database = currentDatabase() and name in {tables:Array(String)}
     ) group by name`,
    { tables },
  ).catch((error: unknown) => {
    if (isPlatformError(error, 'STORE_REFUSED')) return undefined;
    throw error;
  });
  if (rows === undefined || rows.some(({ is_told }) => !is_told)) return undefined;
  return new Map(rows.map(({ name, ...stamp }) => [name, stamp]));
}

interface AddedOfPartition {
  readonly name: string;
  /** -1 counts the rows of all partitions. */
  readonly partition: number;
  readonly end: number;
  readonly rows: number;
}

/** The number of rows of each table, and the rows after the known ones, as of the same moment. */
async function readAdded(
  store: Store,
  { run, names }: { readonly run: string; readonly names: readonly string[] },
  known: FoldedTables,
): Promise<{ readonly counts: ReadonlyMap<string, number>; readonly added: FoldedTables }> {
  const found = await readRows<AddedOfPartition>(
    store,
    names
      .map(
        (name) => `
      select '${name}' as name, toInt32(-1) as partition, toInt64(-1) as end, count() as rows from ${name} where run_id = {run:String}
      union all
      select '${name}' as name, _partition as partition, max(_offset) as end, count() as rows from ${behind(name)} group by partition`,
      )
      .join('\n      union all'),
    Object.assign({ run }, ...names.map((name) => offsetParams(name, ...twice(known.get(name)?.ends ?? NOTHING.ends)))) as Record<
      string,
      unknown
    >,
  );
  const counts = new Map(found.filter(({ partition }) => partition === -1).map(({ name, rows }) => [name, rows]));
  const added = new Map(
    names.map((table) => {
      const own = found.filter(({ name, partition }) => name === table && partition >= 0);
      const rows = own.reduce((sum, one) => sum + one.rows, 0);
      return [table, { rows, ends: new Map(own.map(({ partition, end }) => [partition, end])) }];
    }),
  );
  return { counts, added };
}

const twice = <T>(one: T): readonly [T, T] => [one, one];

/** Folds kept per store; each has about one entry per second, step, or worker of its run. */
const MOST_FOLDS = 32;

const folds = new WeakMap<Store, Memo<unknown>>();

/** The state with all rows of the run. It must be read before the next `await`. */
export async function foldedRun<S>(store: Store, spec: FoldSpec<S>): Promise<S> {
  const memo = folds.get(store) ?? createMemo<unknown>(MOST_FOLDS);
  folds.set(store, memo);
  const fold = (await memo(JSON.stringify([spec.run, spec.name]), '', () => Promise.resolve(new RunFold(store, spec)))) as RunFold<S>;
  return fold.current();
}
