// The checks of a ledger, kept up to date. The checks of sequence and chain skip entries up to `top`, which are in order, unless one of
// them changes, or a new entry has the sequence number or the previous hash of one of them.
import type { Store } from '../../../streams/core/ports.ts';
import { GENESIS } from '../../../streams/ledger/chain.ts';
import { readRows } from '../list.ts';
import type { RowWindow } from '../row-window.ts';
import { foldedRun, type FoldSpec } from '../run-fold.ts';
import { entryTables } from './ledger.reader.ts';

export const ledgerChecks = ['sequence', 'start', 'chain', 'steps', 'weights'] as const;
export type LedgerCheckName = (typeof ledgerChecks)[number];

export interface CheckedEntries {
  readonly checked: number;
  /** First entry with a problem. */
  readonly at: number;
  readonly wrong: number;
  readonly problem: string;
}

export type CheckedLedger = Record<LedgerCheckName, CheckedEntries>;

interface LedgerState {
  readonly found: CheckedLedger;
  /** All entries up to this one are in order. */
  top: number;
}

const NOTHING: CheckedEntries = { checked: 0, at: 0, wrong: 0, problem: '' };

/** Texts of problems are our own; only numbers are put into them. */
const sequenceSql = (entries: string): string => `
  select count() as checked, minIf(sequence, sequence != before + 1) as at, countIf(sequence != before + 1) as wrong,
    concat('entries are missing behind number ', toString(argMinIf(before, sequence, sequence != before + 1))) as problem,
    greatest({top:Int64}, max(sequence)) as top
  from (select sequence, lagInFrame(sequence, 1, {top:Int64}) over (order by sequence rows between unbounded preceding and current row) as before
    from (select distinct sequence from ${entries}))`;

const startSql = (entries: string): string => `
  select count() as checked, min(sequence) as at, countIf(previous != '${GENESIS}' or kind != 'run_events') as wrong,
    'the first entry is not the start of a run' as problem from ${entries} where sequence = 0`;

const chainSql = (entries: string): string => `
  select sum(claims) as checked, minIf(place, claims > 1) as at, countIf(claims > 1) as wrong,
    'two entries claim the same place in the chain' as problem
  from (
    select count() as claims, max(sequence) as place from ${entries} group by previous
    union all
    select uniqExact(previous) as claims, sequence as place from ${entries} group by sequence having claims > 1
  )`;

const stepsSql = `
  select count() as checked, minIf(sequence, isWrong) as at, countIf(isWrong) as wrong,
    concat('step ', toString(argMinIf(step, sequence, isWrong)), ' does not follow the step before it') as problem
  from (select sequence, step,
      step != lagInFrame(step, 1, toInt32(0)) over (order by step rows between unbounded preceding and current row) + 1
        or version_after != version_before + 1 as isWrong
    from (select distinct sequence, step, version_before, version_after from steps where run_id = {run:String}
      union all select distinct sequence, version, version - 1, version from rewinds where run_id = {run:String}))`;

const weightsSql = `
  select count() as checked, minIf(sequence, isWrong) as at, countIf(isWrong) as wrong,
    concat('version ', toString(argMinIf(version, sequence, isWrong)), ' was published with other weights than its step made') as problem
  from (select made.sequence as sequence, made.version as version, made.weights != published.weights as isWrong
    from (select sequence, version_after as version, weights_sha256 as weights from steps where run_id = {run:String} and weights_sha256 != '') as made
    inner join (select version, any(sha256) as weights from policies where run_id = {run:String} and sha256 != '' group by version) as published
      using (version))`;

const anyOf = (parts: readonly string[]): string => `select 1 as found from (\n  ${parts.join('\n  union all ')}) limit 1`;

/** Finds an added entry whose sequence number is at most `top`, as when the log holds an entry twice. */
const numberedAgainSql = (tables: readonly string[], { added }: RowWindow): string =>
  anyOf(tables.map((table) => `select sequence from ${added(table)} and sequence <= {top:Int64}`));

/** Finds an entry up to `top` with the same previous hash as an entry after `top`. */
const claimedAgainSql = (tables: readonly string[], entries: string): string => `
  with (select groupArray(previous) from ${entries}) as claimed
  ${anyOf(
    tables.map(
      (table) => `select sequence from ${table}
    where run_id = {run:String} and sequence <= {top:Int64} and previous_sha256 in (select arrayJoin(claimed))`,
    ),
  )}`;

async function addEntries(store: Store, state: LedgerState, window: RowWindow): Promise<boolean> {
  const { top, found } = state;
  const params = { ...window.params, top };
  const tables = window.filled.filter((table) => (entryTables as readonly string[]).includes(table));
  if (tables.length === 0) return true;
  /** Entries after `top`, each once. */
  const entries = `(select distinct sequence, previous_sha256 as previous, kind from (
    ${tables
      .map(
        (table) =>
          `select sequence, previous_sha256, '${table}' as kind from ${table} where ${window.until(table)} and sequence > {top:Int64}`,
      )
      .join('\n    union all ')}))`;
  if (top >= 0) {
    const again = [numberedAgainSql(tables, window), claimedAgainSql(tables, entries)];
    const read = await Promise.all(again.map((sql) => readRows(store, sql, params)));
    if (read.some((rows) => rows.length > 0)) return false;
  }
  const read = async (sql: string): Promise<CheckedEntries & { readonly top?: number }> =>
    (await readRows<CheckedEntries & { readonly top?: number }>(store, sql, params))[0] ?? NOTHING;
  const [{ top: newest = top, ...sequence }, start, chain, steps, weights] = await Promise.all([
    read(sequenceSql(entries)),
    top >= 0 ? found.start : read(startSql(entries)),
    ...([chainSql(entries), stepsSql, weightsSql] as const).map(read),
  ]);
  Object.assign(found, { sequence: behind(top, sequence), start, chain: behind(top, chain), steps, weights });
  if (start.checked > 0 && sequence.wrong + start.wrong + (chain?.wrong ?? 0) === 0) state.top = newest;
  return true;
}

/** Counts the entries up to `top` as checked too. */
const behind = (top: number, { checked, ...found }: CheckedEntries = NOTHING): CheckedEntries => ({ checked: top + 1 + checked, ...found });

/** What each check found in the tables. */
export async function readCheckedLedger(store: Store, run: string): Promise<Readonly<CheckedLedger>> {
  const empty = (): LedgerState => ({
    found: { sequence: NOTHING, start: NOTHING, chain: NOTHING, steps: NOTHING, weights: NOTHING },
    top: -1,
  });
  const spec: FoldSpec<LedgerState> = {
    ...{ name: 'ledger', run, tables: [...entryTables, 'policies'], empty },
    add: (state, window) => addEntries(store, state, window),
  };
  return (await foldedRun(store, spec)).found;
}
