// The ledger of a run according to the tables: the number of entries, missing ones, and the first step at which it differs from another
// run. Hashes are verified from the log, by `turnstream ledger verify`.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';

/** Tables with one row per entry, which has its sequence number and the hash of the previous entry. */
export const entryTables = [
  ...(['run_events', 'admissions', 'batches', 'steps', 'discarded_trajectories', 'expired_attempts'] as const),
  ...(['trainer_claims', 'leases', 'lease_releases', 'rewinds', 'named_weights', 'counted_rewards'] as const),
] as const;

interface FirstDifference {
  readonly step: number;
  readonly batch_sha256: string;
  readonly other_batch_sha256: string;
  readonly weights_sha256: string;
  readonly other_weights_sha256: string;
}

const entriesSql = `
  select count() as entries, max(sequence) as last_sequence, max(sequence) + 1 - count() as missing
  from (select distinct sequence from (${entryTables.map((table) => `select sequence from ${table} where run_id = {run:String}`).join(' union all ')}))`;

const endSql = `
  select step, batch_sha256, weights_sha256, optimizer_sha256, previous_sha256 from steps where run_id = {run:String} order by step desc limit 1`;

const differenceSql = `
  select step, this.batch as batch_sha256, other.batch as other_batch_sha256, this.weights as weights_sha256, other.weights as other_weights_sha256
  from (select step, any(batch_sha256) as batch, any(weights_sha256) as weights from steps where run_id = {run:String} group by step) as this
  inner join (select step, any(batch_sha256) as batch, any(weights_sha256) as weights from steps where run_id = {other:String} group by step) as other
    using (step)
  where this.weights != other.weights
  order by step limit 1`;

const sharedSql = `
  select count() as steps from (select distinct step from steps where run_id = {run:String}) as this
  inner join (select distinct step from steps where run_id = {other:String}) as other using (step)`;

interface LastStep {
  readonly step: number;
  readonly batch_sha256: string;
  readonly weights_sha256: string;
  readonly optimizer_sha256: string;
  readonly previous_sha256: string;
}

export interface LedgerSummary {
  readonly run_id: string;
  readonly entries: number;
  readonly last_sequence: number;
  /** Sequence numbers that are in no table. */
  readonly missing: number;
  readonly last_step: LastStep | null;
  readonly with: string | null;
  readonly shared_steps: number | null;
  readonly first_difference: FirstDifference | null;
}

export async function readLedger(store: Store, run: string, other: string | undefined): Promise<LedgerSummary> {
  const [[counts], [end], [shared], [difference]] = await Promise.all([
    readRows<{ entries: number; last_sequence: number; missing: number }>(store, entriesSql, { run }),
    readRows<LastStep>(store, endSql, { run }),
    other === undefined ? [] : readRows<{ steps: number }>(store, sharedSql, { run, other }),
    other === undefined ? [] : readRows<FirstDifference>(store, differenceSql, { run, other }),
  ]);
  const known = counts === undefined || counts.entries === 0 ? { entries: 0, last_sequence: -1, missing: 0 } : counts;
  const beside = { with: other ?? null, shared_steps: shared?.steps ?? null, first_difference: difference ?? null };
  return { run_id: run, ...known, last_step: end ?? null, ...beside };
}
