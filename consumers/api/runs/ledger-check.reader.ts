// Checks of the ledger that the tables allow: whether its entries are numbered without gaps and form one chain, its steps follow each
// other, and the published weights are those that the steps made. The tables do not have the bytes of an entry, so its own hash is
// checked from the log, by `turnstream ledger verify`.
import type { Store } from '../../../streams/core/ports.ts';
import { ledgerChecks, readCheckedLedger, type CheckedEntries, type LedgerCheckName } from './ledger-check.fold.ts';

interface BrokenEntry {
  readonly sequence: number;
  readonly problem: string;
}

interface LedgerCheck {
  readonly check: LedgerCheckName;
  /** Number of entries that were checked. */
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

const checkOf = (check: LedgerCheckName, { checked, at, wrong, problem }: CheckedEntries): LedgerCheck => ({
  ...{ check, checked, broken: wrong === 0 ? null : { sequence: at, problem } },
});

export async function checkLedger(store: Store, run: string): Promise<LedgerCheckReport> {
  const found = await readCheckedLedger(store, run);
  const checks = ledgerChecks.map((check) => checkOf(check, found[check]));
  const all = checks.find(({ check }) => check === 'sequence')?.checked ?? 0;
  const broken = checks.flatMap(({ check, broken: one }) => (one === null ? [] : [{ ...one, check }]));
  // a gap may close when the rest of the log is stored; anything else stays wrong. After a gap, steps do not follow each other either
  const gap = broken.find(({ check }) => check === 'sequence');
  const lasting = broken.filter(({ check }) => check !== 'sequence' && (check !== 'steps' || gap === undefined));
  const first = (lasting.length > 0 ? lasting : broken).sort((a, b) => a.sequence - b.sequence)[0] ?? null;
  const state = all === 0 ? 'none' : lasting.length > 0 ? 'broken' : gap !== undefined ? 'incomplete' : 'intact';
  return { run_id: run, state, entries: all, checks, first_broken: first };
}
