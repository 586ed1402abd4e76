// How long the attempts of a run took from start to finish, by the version at their end, kept up to date.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { OF_PURPOSE } from '../of-purpose.ts';
import { touchedAttempts, WAS, type RowsOfState, type RowWindow } from '../row-window.ts';
import { foldedRun, type FoldSpec } from '../run-fold.ts';

const tables = ['trajectories'] as const;
const FLIGHT = "version_last, dateDiff('millisecond', started_at, finished_at)";

interface FlightsOfVersion {
  readonly state: number;
  readonly version: number;
  readonly flight_ms: number;
}

/** Of rows that repeat an event, the first counts. */
const flightsSql = (rows: RowsOfState): string => `
  select state, ended.1 as version, toInt64(sum(ended.2)) as flight_ms from (
    select state, argMin((version_last, flight), (_partition, _offset)) as ended
    from ${rows('trajectories', `trajectory_id, attempt, _partition, _offset, ${FLIGHT} as flight`, OF_PURPOSE)}
    group by state, trajectory_id, attempt
  ) group by state, version`;

type ReadFlights = (sql: string, params: RowWindow['params']) => Promise<readonly FlightsOfVersion[]>;

async function addFlights(read: ReadFlights, state: Map<number, number>, window: RowWindow): Promise<boolean> {
  const { clause, rows } = touchedAttempts(window, tables);
  for (const { state: own, version, flight_ms } of await read(`${clause} ${flightsSql(rows)}`, window.params)) {
    state.set(version, (state.get(version) ?? 0) + (own === WAS ? -flight_ms : flight_ms));
  }
  return true;
}

/** Total time, ms, of the attempts of a purpose (empty: all but evaluations) with a last version from `from_step` - 1 to `to_step` - 1. */
export async function readFlight(
  store: Store,
  { run, purpose }: { readonly run: string; readonly purpose: string },
  { from_step, to_step }: { readonly from_step: number; readonly to_step: number },
): Promise<number> {
  const spec: FoldSpec<Map<number, number>> = {
    ...{ name: `flights of ${purpose}`, run, tables, empty: () => new Map() },
    add: (state, window) => addFlights((sql, params) => readRows<FlightsOfVersion>(store, sql, { ...params, purpose }), state, window),
  };
  const flights = await foldedRun(store, spec);
  return [...flights].reduce((sum, [version, ms]) => (version >= from_step - 1 && version < to_step ? sum + ms : sum), 0);
}
