// The admissions of a whole run, aggregated into spans of equally many ledger entries. Each span has its last admission, and the minimum
// and maximum of `capacity` and `running`.
import type { Store } from '../../../streams/core/ports.ts';
import type { ListPage } from '../list.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import { admissionColumns, type admissionSpanColumns } from './watch.columns.ts';

const last = Object.keys(admissionColumns)
  .filter((name) => name !== 'sequence')
  .map((name) => `argMax(${name}, sequence) as last_${name}`);

/** Newest first, like the list of all admissions. */
export async function readAdmissionSpans(store: Store, run: string, points: number): Promise<ListPage<RowOf<typeof admissionSpanColumns>>> {
  const names = Object.keys(admissionColumns).map((name) => (name === 'sequence' ? 'newest as sequence' : `last_${name} as ${name}`));
  const items = await readRows<RowOf<typeof admissionSpanColumns>>(
    store,
    `select ${names.join(', ')}, admissions, capacity_min, capacity_max, running_min, running_max
     from (
       with (select (min(sequence), max(sequence)) from admissions where run_id = {run:String}) as ends
       select max(sequence) as newest, ${last.join(', ')}, uniqExact(sequence) as admissions, min(capacity) as capacity_min,
         max(capacity) as capacity_max, min(running) as running_min, max(running) as running_max
       from admissions where run_id = {run:String}
       group by intDiv((sequence - ends.1) * {points:Int64}, ends.2 - ends.1 + 1)
     )
     order by newest desc`,
    { run, points },
  );
  return { items, next_cursor: null };
}
