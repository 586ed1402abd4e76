// Checks of the ledger that the tables allow: whether its entries are numbered without gaps and twists, each names one entry before it,
// steps follow each other, and what they made is what was published. The tables do not have the bytes of an entry, so its own hash is
// checked from the log, by `turnstream ledger verify`.
import type { Store } from '../../../streams/core/ports.ts';
import { GENESIS } from '../../../streams/ledger/chain.ts';
import { readRows } from '../list.ts';
import { entryTables } from './ledger.reader.ts';

export const ledgerChecks = ['sequence', 'start', 'chain', 'steps', 'weights'] as const;
type LedgerCheckName = (typeof ledgerChecks)[number];

interface BrokenEntry {
  readonly sequence: number;
  readonly problem: string;
}

interface LedgerCheck {
  readonly check: LedgerCheckName;
  /** Entries that it looked at. */
  readonly checked: number;
  readonly broken: BrokenEntry | null;
}

export const ledgerStates = ['none', 'intact', 'incomplete', 'broken'] as const;

export interface LedgerCheckReport {
  readonly run_id: string;
  /** `incomplete`: entries are missing and nothing else is wrong, as while the tables are behind the log. */
  readonly state: (typeof ledgerStates)[number];
  readonly entries: number;
  readonly checks: readonly LedgerCheck[];
  readonly first_broken: (BrokenEntry & { readonly check: LedgerCheckName }) | null;
}

const entries = `(select distinct sequence, previous_sha256 as previous, kind from (
  ${entryTables.map((table) => `select sequence, previous_sha256, '${table}' as kind from ${table} where run_id = {run:String}`).join('\n  union all ')}))`;

/** A problem is a text of our own; numbers alone are put into it. */
const statements: Readonly<Record<LedgerCheckName, string>> = {
  sequence: `select count() as checked, minIf(sequence, sequence != before + 1) as at, countIf(sequence != before + 1) as wrong,
      concat('entries are missing behind number ', toString(argMinIf(before, sequence, sequence != before + 1))) as problem
    from (select sequence, lagInFrame(sequence, 1, toInt64(-1)) over (order by sequence rows between unbounded preceding and current row) as before
      from (select distinct sequence from ${entries}))`,
  start: `select count() as checked, min(sequence) as at, countIf(previous != '${GENESIS}' or kind != 'run_events') as wrong,
      'the first entry is not the start of a run' as problem from ${entries} where sequence = 0`,
  chain: `select sum(claims) as checked, minIf(place, claims > 1) as at, countIf(claims > 1) as wrong,
      'two entries claim the same place in the chain' as problem
    from (
      select count() as claims, max(sequence) as place from ${entries} group by previous
      union all
      select uniqExact(previous) as claims, sequence as place from ${entries} group by sequence having claims > 1
    )`,
  steps: `select count() as checked, minIf(sequence, isWrong) as at, countIf(isWrong) as wrong,
      concat('step ', toString(argMinIf(step, sequence, isWrong)), ' does not follow the step before it') as problem
    from (select sequence, step,
        step != lagInFrame(step, 1, toInt32(0)) over (order by step rows between unbounded preceding and current row) + 1
          or version_after != version_before + 1 as isWrong
      from (select distinct sequence, step, version_before, version_after from steps where run_id = {run:String}
        union all select distinct sequence, version, version - 1, version from rewinds where run_id = {run:String}))`,
  weights: `select count() as checked, minIf(sequence, isWrong) as at, countIf(isWrong) as wrong,
      concat('version ', toString(argMinIf(version, sequence, isWrong)), ' was published with other weights than its step made') as problem
    from (select made.sequence as sequence, made.version as version, made.weights != published.weights as isWrong
      from (select sequence, version_after as version, weights_sha256 as weights from steps where run_id = {run:String} and weights_sha256 != '') as made
      inner join (select version, any(sha256) as weights from policies where run_id = {run:String} and sha256 != '' group by version) as published
        using (version))`,
};

interface CheckedEntries {
  readonly checked: number;
  readonly at: number;
  readonly wrong: number;
  readonly problem: string;
}

async function readCheck(store: Store, run: string, check: LedgerCheckName): Promise<LedgerCheck> {
  const [row] = await readRows<CheckedEntries>(store, statements[check], { run });
  const { checked = 0, at = 0, wrong = 0, problem = '' } = row ?? {};
  return { check, checked, broken: wrong === 0 ? null : { sequence: at, problem } };
}

export async function checkLedger(store: Store, run: string): Promise<LedgerCheckReport> {
  const checks = await Promise.all(ledgerChecks.map((check) => readCheck(store, run, check)));
  const all = checks.find(({ check }) => check === 'sequence')?.checked ?? 0;
  const broken = checks.flatMap(({ check, broken: one }) => (one === null ? [] : [{ ...one, check }]));
  // a gap may close when the rest of the log is in; anything else stays wrong. Behind a gap, steps do not follow each other either
  const gap = broken.find(({ check }) => check === 'sequence');
  const lasting = broken.filter(({ check }) => check !== 'sequence' && (check !== 'steps' || gap === undefined));
  const first = (lasting.length > 0 ? lasting : broken).sort((a, b) => a.sequence - b.sequence)[0] ?? null;
  const state = all === 0 ? 'none' : lasting.length > 0 ? 'broken' : gap !== undefined ? 'incomplete' : 'intact';
  return { run_id: run, state, entries: all, checks, first_broken: first };
}
