// Advisories of a run, including the one that needs the log: how far the tables lag behind it.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import type { RowOf } from '../columns.ts';
import { readAdvisories } from './advisories.reader.ts';
import { adviseOnLag, gravestFirst, isBehind, type LagFacts } from './advisories.ts';
import type { RunFindings } from './advisory-changes.ts';
import type { outageColumns } from './watch.columns.ts';

/** Number of records of the log that are not in the tables yet. */
export type CountBehind = () => Promise<number>;

const lagSql = `
  select is_running, if(newest_ms = 0, 0, toUnixTimestamp64Milli(now64(3)) - newest_ms) as age_ms from (
    select countIf(event = 'started') > 0 and argMax(event, sequence) != 'finished' as is_running from run_events where run_id = {run:String}
  ) as state cross join (
    select toUnixTimestamp64Milli(max(occurred_at)) as newest_ms from heartbeats where run_id = {run:String}
  ) as beats`;

interface WatchedRun extends RunFindings {
  readonly outages: readonly RowOf<typeof outageColumns>[];
  /** Number of log records that are not in the tables yet; null if the log is unavailable. */
  readonly behind: number | null;
}

/** While the log is unavailable, the rule about lag is skipped; the others still work. */
export async function readFindings(store: Store, run: string, countBehind: CountBehind): Promise<WatchedRun> {
  const [advisories, behind] = await Promise.all([readAdvisories(store, run), countBehind().catch(() => null)]);
  const { items } = advisories;
  if (behind === null || !isBehind(behind)) return { ...advisories, behind };
  const [facts] = await readRows<Pick<LagFacts, 'is_running' | 'age_ms'>>(store, lagSql, { run });
  const lag = facts === undefined ? [] : adviseOnLag({ run, behind, ...facts });
  return { ...advisories, behind, items: gravestFirst([...items, ...lag]) };
}

/** Unfinished runs with an event in the last day. */
const runningSql = `
  select toString(run_id) as run_id from run_events
  group by run_id having countIf(event = 'started') > 0 and argMax(event, sequence) != 'finished'
    and (max(at) > now() - interval 1 day or run_id in (select run_id from heartbeats where occurred_at > now() - interval 1 day))
  order by max(at) desc limit 50`;

/** Advisories of all unfinished runs. */
export async function readAllFindings(store: Store, countBehind: CountBehind): Promise<readonly RunFindings[]> {
  const found: RunFindings[] = [];
  const runs = await readRows<{ run_id: string }>(store, runningSql);
  for (const { run_id } of runs) found.push(await readFindings(store, run_id, countBehind));
  return found;
}
