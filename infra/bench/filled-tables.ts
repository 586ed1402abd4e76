// Fills tables through the log: `turnstream load` writes turns, and the sink stores them. The ledger of each run is inserted directly.
import { setTimeout as sleep } from 'node:timers/promises';
import { say, type BenchSite } from './local-bench.ts';
import { whole } from './report.ts';
import { writeLedgerRows } from './size-ledger.ts';
import type { RunningCommand, TablesWorld } from './tables-world.ts';

interface TablesFilling {
  /** Turns of each run. */
  readonly runs: Readonly<Record<string, number>>;
  readonly turnBytes: string;
}

const PROGRESS_MS = 30_000;
/** Until the load reaches its rate. */
const WARM_UP_MS = 10_000;

/** Needs a running warehouse; returns when everything that was written is stored. */
export async function fillTables(world: TablesWorld, site: BenchSite, { runs, turnBytes }: TablesFilling): Promise<void> {
  const progress = setInterval(() => {
    void world.lag().then((lag) => {
      say(`${whole(lag)} records behind`);
    });
  }, PROGRESS_MS);
  try {
    for (const [run, turns] of Object.entries(runs)) {
      say(`writing ${whole(turns)} turns`);
      await world.command('load', '--turns', String(turns), '--turn-bytes', turnBytes, '--run', run, '--purpose', 'train');
    }
    while ((await world.lag()) > 0) await sleep(500, undefined, { signal: site.signal });
  } finally {
    clearInterval(progress);
  }
  for (const run of Object.keys(runs)) await writeLedgerRows(world.store, run);
}

/** Writes turns at `rate` per second until stopped. The run is always new: turns of an old run in a kept directory would be repeats. */
export async function startLoad(world: TablesWorld, load: { readonly rate: string; readonly turnBytes: string }): Promise<RunningCommand> {
  const run = `beside-${Date.now().toString(36)}`;
  const running = world.begin('load', '--rate', load.rate, '--turn-bytes', load.turnBytes, '--run', run);
  await sleep(WARM_UP_MS);
  return running;
}
