// When each worker started to use each version: the time from the publication of the weights to the worker's first turn with them.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import { MOST_INT32 } from '../values.ts';
import type { syncColumns } from './watch.columns.ts';

type SyncRow = RowOf<typeof syncColumns>;

/** One row for each worker and version, for the newest `versions` versions up to `to_version`; oldest version first. */
export async function readSyncs(
  store: Store,
  run: string,
  asked: { readonly versions: number; readonly to_version?: number | undefined },
): Promise<{ readonly run_id: string; readonly items: readonly SyncRow[] }> {
  const to = asked.to_version ?? MOST_INT32;
  const items = await readRows<SyncRow>(
    store,
    `with (select max(policy_version_max) from turns where run_id = {run:String} and policy_version_max <= {to:Int32}) as newest
     select version, worker_id, published_at, first_turn_at, last_turn_at, turns,
       if(year(published_at) > 1970, toFloat64(dateDiff('millisecond', published_at, first_turn_at)), nan) as lag_ms
     from (
       select policy_version_max as version, toString(worker_id) as worker_id, min(occurred_at) as first_turn_at,
         max(occurred_at) as last_turn_at, count() as turns
       from turns
       where run_id = {run:String} and policy_version_max > newest - {versions:Int32} and policy_version_max between 0 and newest
       group by version, worker_id
     ) as seen
     left join (
       select version, min(occurred_at) as published_at from policies where run_id = {run:String} group by version
     ) as published using (version)
     order by version, worker_id`,
    { run, versions: asked.versions, to },
  );
  return { run_id: run, items: items.map((item) => (item.lag_ms === null ? { ...item, published_at: null } : item)) };
}
