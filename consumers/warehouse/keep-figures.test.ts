import { expect, it } from 'vitest';
import type { Clock, Store } from '../../streams/core/ports.ts';
import { keepFigures, keepFor, pauseAfter } from './keep-figures.ts';

const HOUR_MS = 3_600_000;

/**
 * Simulates an hour in which the run ends a step before each round and queries take `queryMs`; returns the share of time spent in queries.
 */
async function shareOfAnHour(queryMs: number): Promise<number> {
  const stop = new AbortController();
  let [now, queried] = [0, 0];
  const sleep = (ms: number): Promise<void> => {
    now += ms;
    if (now > HOUR_MS) stop.abort();
    return Promise.resolve();
  };
  const clock: Clock = { now: () => now, monotonic: () => now, sleep };
  const store = {
    query: (sql: string): Promise<readonly object[]> => {
      now += queryMs;
      queried += queryMs;
      return Promise.resolve(sql.includes('from steps where') ? [{ run_id: 'run', step: now }] : []);
    },
    insert: () => Promise.resolve(),
  };
  const logger = { debug: () => undefined } as unknown as Parameters<typeof keepFigures>[0]['logger'];
  await keepFigures({ store: store as unknown as Store, clock, logger, signal: stop.signal });
  return queried / now;
}

it('spends a small share of the time on queries during a run, however slow they are', async () => {
  for (const queryMs of [1, 100, 3_000]) expect(await shareOfAnHour(queryMs), `${queryMs} ms`).toBeLessThan(0.05);
});

it('pauses for the time of a round while it is behind, otherwise for 20 times that and at least 20 s', () => {
  expect(pauseAfter(400, true)).toBe(400);
  expect(pauseAfter(400, false)).toBe(20_000);
  expect(pauseAfter(4_000, false)).toBe(80_000);
});

it.each([
  { name: 'goes on while it is behind and has time', rounds: [true, true, false], taken: 3, behind: false },
  { name: 'leaves the rest for its next turn', rounds: [true, true, true, true, true], taken: 4, behind: true },
  { name: 'takes one round when it is not behind', rounds: [false], taken: 1, behind: false },
])('a keeper $name', async ({ rounds, taken, behind }) => {
  let now = 0;
  let taking = 0;
  const round = () => {
    now += 600;
    taking += 1;
    return Promise.resolve({ kept: 64, isBehind: rounds[taking - 1] ?? false });
  };
  expect(await keepFor(2_000, { round }, { monotonic: () => now })).toBe(behind);
  expect(taking).toBe(taken);
});
