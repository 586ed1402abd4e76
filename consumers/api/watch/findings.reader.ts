// Advisories of a run, including the one that needs the log: how far the tables lag behind it.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import type { RowOf } from '../columns.ts';
import { readFacts } from './advisories.reader.ts';
import { adviseOn, adviseOnLag, gravestFirst } from './advisories.ts';
import type { RunFindings } from './advisory-changes.ts';
import type { outageColumns } from './watch.columns.ts';

/** Number of records of the log that are not in the tables yet. */
export type CountBehind = () => Promise<number>;

interface WatchedRun extends RunFindings {
  readonly outages: readonly RowOf<typeof outageColumns>[];
  /** Number of log records that are not in the tables yet; null if the log is unavailable. */
  readonly behind: number | null;
}

/**
 * While the log is unavailable, the rule about lag is skipped; the others still work. While the tables may lack heartbeats that are in the
 * log, a worker is reported as silent only if the tables have newer heartbeats of another worker.
 */
export async function readFindings(store: Store, run: string, countBehind: CountBehind): Promise<WatchedRun> {
  const [{ facts, now_ms, stored_until_ms }, behind] = await Promise.all([readFacts(store, run), countBehind().catch(() => null)]);
  const { is_running, beats, outages } = facts;
  const items = adviseOn({ ...facts, heard_until_ms: behind === 0 ? now_ms : stored_until_ms });
  const [newest] = beats;
  const age_ms = newest === undefined ? 0 : now_ms - newest.at_ms;
  const lag = behind === null ? [] : adviseOnLag({ run, is_running, behind, age_ms });
  return { run_id: run, items: gravestFirst([...items, ...lag]), outages, behind };
}

const lastDay = (table: string, time: string): string => `run_id in (select run_id from ${table} where ${time} > now() - interval 1 day)`;

/** Unfinished runs in which anything happened in the last day, and finished ones: the newest 50 of each. */
const watchedSql = `
  select toString(run_id) as run_id, is_finished
  from (
    select run_id, argMax(event, sequence) = 'finished' as is_finished, max(at) as newest
    from run_events group by run_id having countIf(event = 'started') > 0
  )
  where is_finished or newest > now() - interval 1 day
    or ${lastDay('heartbeats', "addressee = '' and occurred_at")} or ${lastDay('steps', 'at')} or ${lastDay('trajectories', 'occurred_at')}
  order by newest desc limit 50 by is_finished`;

interface RunToWatch {
  readonly run_id: string;
  readonly is_finished: number | boolean;
}

/** Advisories of the runs that `watchedSql` selects. Finished runs have none. */
export async function readAllFindings(store: Store, countBehind: CountBehind): Promise<readonly RunFindings[]> {
  const found: RunFindings[] = [];
  for (const { run_id, is_finished } of await readRows<RunToWatch>(store, watchedSql)) {
    found.push(is_finished ? { run_id, items: [] } : await readFindings(store, run_id, countBehind));
  }
  return found;
}
