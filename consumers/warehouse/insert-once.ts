// Inserts one table's rows of a bundle exactly once. The first attempt with new rows inserts directly. Whenever some of them may already be
// stored (a repeat, a start without an offset, an attempt without a response), these steps come first:
//   1. the group confirms that the partitions are still ours,
//   2. running inserts of these partitions are ended in the engine,
//   3. rows that the table already holds are left out, and the table is checked again afterward.
//
// An insert is one block, which the engine splits only by month, and all rows of one record are in the same month. So a record is stored in
// full or not at all; a partially stored one is removed and inserted again.
import { rowsOf } from '../../streams/core/columns.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Clock, Row, Rows, Store } from '../../streams/core/ports.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import type { Bundle } from './bundle.ts';
import type { Fence } from './fence.ts';
import type { Holdings } from './holdings.ts';
import { assertAlive, patiently, type Patience } from './patience.ts';
import type { RangeEntry } from './range.ts';
import { placeOf } from './rows/cells.ts';
import type { TableName } from './rows/tables.ts';

export interface TableRows {
  readonly table: TableName;
  readonly rows: Rows;
  readonly bundle: Pick<Bundle<RangeEntry>, 'topic' | 'bounds' | 'asks'>;
  readonly token: string;
}

export interface InsertDeps {
  readonly store: Store;
  readonly holdings: Holdings;
  readonly fence: Fence;
  readonly patience: Patience;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Maximum attempts. Each uses another token, because the first may have been used for rows that were removed since. */
const TRIES = 4;

export const placeOfRow = (row: Row): string => placeOf(Number(row['_partition']), Number(row['_offset']));

/** Resolves with the number of inserted rows, when the table has all rows of the bundle. */
export function insertOnce(work: TableRows, deps: InsertDeps): Promise<number> {
  let asks = work.bundle.asks;
  return patiently(deps.patience, async () => {
    if (asks) return insertMissing(work, deps);
    asks = true;
    await insert(work, deps);
    return work.rows.length;
  });
}

async function insertMissing(work: TableRows, deps: InsertDeps): Promise<number> {
  const { table, bundle, token } = work;
  await deps.fence.ask();
  await deps.holdings.endInserts([table], partitionsOf(bundle));
  let inserted = 0;
  for (let tried = 0; tried < TRIES; tried += 1) {
    const rows = await missing(work, deps.holdings);
    if (rows.length === 0) return inserted;
    await insert({ ...work, rows, token: tried === 0 ? token : `${token}-${tried}` }, deps);
    inserted += rows.length;
  }
  throw new PlatformError('STORE_UNAVAILABLE', `inserting into ${table}: the table does not contain the rows that it accepted`);
}

async function insert({ table, rows, bundle, token }: TableRows, deps: InsertDeps): Promise<void> {
  const { store, holdings, fence, clock, metrics } = deps;
  await fence.ensure();
  const startedMs = clock.monotonic();
  const id = holdings.idOf(table, partitionsOf(bundle));
  // The next owner of the partitions ends inserts that were sent before; it would not know of any sent later.
  const beforeSending = (): void => {
    assertAlive(deps.patience);
    fence.assertFresh();
  };
  await store.insert(table, rows, { token, id, beforeSending });
  assertAlive(deps.patience);
  metrics.count('sink_rows_total', { table }, rows.length);
  metrics.count('sink_inserts_total', { table });
  metrics.observe('sink_insert_seconds', { table }, (clock.monotonic() - startedMs) / 1_000);
}

const partitionsOf = ({ bounds }: TableRows['bundle']): readonly number[] => bounds.map(({ partition }) => partition);

async function missing({ table, rows, bundle }: TableRows, holdings: Holdings): Promise<Rows> {
  const held = await holdings.held(table, bundle.topic, bundle.bounds);
  if (held.size === 0) return rows;
  const all = rowsOf(rows);
  const wanted = new Map<string, { readonly partition: number; readonly offset: number; rows: number }>();
  for (const row of all) {
    const place = placeOfRow(row);
    const known = wanted.get(place);
    if (known === undefined) wanted.set(place, { partition: Number(row['_partition']), offset: Number(row['_offset']), rows: 1 });
    else known.rows += 1;
  }
  for (const [place, { partition, offset, rows: whole }] of wanted) {
    const found = held.get(place) ?? 0;
    if (found === 0 || found >= whole) continue;
    await holdings.erase(table, bundle.topic, [{ partition, min: offset, max: offset }]);
  }
  return all.filter((row) => {
    const place = placeOfRow(row);
    return (held.get(place) ?? 0) < (wanted.get(place)?.rows ?? 0);
  });
}
