// The data with which the pages of the dashboard are measured: a small store, or a service with millions of turns in its tables while more
// come in. Both have the runs that the pages show.
import { fillTables, startLoad } from '../filled-tables.ts';
import { say, withSite, type BenchSite } from '../local-bench.ts';
import { whole } from '../report.ts';
import { startTablesWorld } from '../tables-world.ts';
import { untilKept } from '../until-kept.ts';
import type { EventWriter, Store } from '../../../streams/core/ports.ts';
import { seedLongRun, startDashboardWorld } from '../../testing/dashboard-world.ts';

export interface MeasuredWorld {
  readonly url: string;
  readonly store: Store;
  readonly writer: EventWriter;
}

/** A measurement in a world. */
type MeasureIn<T> = (world: MeasuredWorld) => Promise<T>;

/** The default of `TURNSTREAM_API_FRESH_MS`. */
export const FRESH_MS = 200;

export async function inSmallWorld<T>(measure: MeasureIn<T>): Promise<T> {
  const world = await startDashboardWorld({ freshMs: FRESH_MS });
  try {
    return await measure({ url: world.url, store: world.store, writer: world.log.writer() });
  } finally {
    await world.stop();
  }
}

export interface LargeWorld {
  /** In the tables before anything is measured. */
  readonly turns: number;
  readonly turnBytes: string;
  /** Turns that come in per second during the measurement. */
  readonly rate: string;
}

export interface LoadedFigures<T> {
  readonly figures: T;
  /** In the tables at the end. */
  readonly turns: number;
  /** Turns that were stored per second during the measurement. */
  readonly stored: number;
}

/** The run that holds all of the turns. */
export const largeRun = 'ten-million';
const STORED = 'select sum(rows) as turns from system.parts where table = {table:String} and active';

export const inLargeWorld = <T>(large: LargeWorld, measure: MeasureIn<T>): Promise<LoadedFigures<T>> =>
  withSite((site) => measureLoaded(site, large, measure));

async function measureLoaded<T>(site: BenchSite, large: LargeWorld, measure: MeasureIn<T>): Promise<LoadedFigures<T>> {
  const world = await startTablesWorld(site, 'dash', 4);
  const { store } = world;
  const sink = await world.startWarehouse();
  await sink.until(({ state }) => state === 'live');
  await fillTables(world, site, { runs: { [largeRun]: large.turns }, turnBytes: large.turnBytes });
  await untilKept(store, site.signal);
  await seedLongRun(store);
  const url = await world.startApi({ TURNSTREAM_API_FRESH_MS: String(FRESH_MS) });
  const stored = async (): Promise<number> => (await store.query<{ turns: number }>(STORED, { params: { table: 'turns' } }))[0]?.turns ?? 0;
  const load = await startLoad(world, large);
  const [before, began] = [await stored(), performance.now()];
  say(`${whole(before)} turns, ${large.rate} turns/s come in`);
  const figures = await measure({ url, store, writer: await world.kafka.writer() });
  const [turns, seconds] = [await stored(), (performance.now() - began) / 1_000];
  await load.stop();
  return { figures, turns, stored: (turns - before) / seconds };
}
