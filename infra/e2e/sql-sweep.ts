// `npm run fuzz:sql -- --sweep`: the full sweep over the names of the engine, on an engine of its own.
import { connectStore } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { startTestStore } from '../testing/store.ts';
import { sweepNames, unknownTakersOfLambdas } from '../testing/sql-sweep.ts';

/** False when a name that is on no list was allowed, or a function takes a lambda that the sandbox does not recognize. */
export async function sweepAll(say: (text: string) => void): Promise<boolean> {
  const engine = await startTestStore();
  const store = connectStore({ url: engine.url, database: 'turnstream' });
  const began = performance.now();
  try {
    await migrate(store);
    const swept = await sweepNames(store, { dense: false, lanes: 4 });
    for (const { kind, names, statements, holes } of swept) {
      say(`${kind}: ${names} names that are not on the list, ${statements} statements, ${holes.length} holes`);
      for (const hole of holes.slice(0, 20)) say(`FAILED ${hole}`);
    }
    const takers = await unknownTakersOfLambdas(store);
    for (const taker of takers) say(`FAILED ${taker} takes a function for a lambda and is not known for it`);
    const sum = (of: (one: (typeof swept)[number]) => number): number => swept.reduce((total, one) => total + of(one), 0);
    const seconds = Math.round((performance.now() - began) / 1_000);
    say(`${sum(({ statements }) => statements)} statements in ${seconds} s: ${sum(({ holes }) => holes.length)} holes`);
    return takers.length === 0 && swept.every(({ holes }) => holes.length === 0);
  } finally {
    await store.close();
    await engine.stop();
  }
}
