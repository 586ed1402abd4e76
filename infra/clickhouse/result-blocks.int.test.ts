// Disk usage of tool results: a page that many trajectories read is not stored in full for each of them.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migratedDatabase, startMigratedStore } from '../testing/migrated-store.ts';
import type { TestStore } from '../testing/store.ts';
import { connectStore, type ClickHouseStore } from './client.ts';

const [TRAJECTORIES, TURNS, PAGES, PAGE_BYTES] = [400, 10, 200, 12_800];
/** Random hexadecimal text, which compresses to no less than half, without repetition. */
const page = (at: number): string =>
  Array.from({ length: PAGE_BYTES / 64 }, (_, part) => createHash('sha256').update(`${at}/${part}`).digest('hex')).join('');
const pages = Array.from({ length: PAGES }, (_, at) => page(at));

let embedded: TestStore;
let store: ClickHouseStore;
beforeAll(async () => {
  embedded = await startMigratedStore();
  store = connectStore({ url: embedded.url, database: migratedDatabase });
  // like parts of more than 256 MB, which contain almost all of a large table
  await store.command('alter table turns modify setting min_bytes_for_wide_part = 0');
});
afterAll(async () => {
  await store.close();
  await embedded.stop();
});

it('takes less than half of what compressing each page separately would take', async () => {
  const turns = Array.from({ length: TRAJECTORIES * TURNS }, (_, at) => {
    const [trajectory, turn] = [Math.floor(at / TURNS), at % TURNS];
    const result = pages[(trajectory * 37 + turn * 11) % PAGES] ?? '';
    const place = { run_id: 'run', trajectory_id: `run-${trajectory}.0`, attempt: 0, turn };
    return { ...place, tool: 'access', tool_result: result, _timestamp: '2026-01-01 00:00:00' };
  });
  await store.insert('turns', turns, 'all');
  await store.command('optimize table turns final');
  const [parts] = await store.query<{ turns: number; bytes: number }>(
    `select sum(rows) as turns, sum(bytes_on_disk) as bytes from system.parts where active and database = currentDatabase() and table = 'turns'`,
  );
  expect(parts?.turns).toBe(turns.length);
  expect(parts?.bytes).toBeLessThan((turns.length * PAGE_BYTES) / 4);
});

it('is achieved by merges: of all columns, only results have the default codec', async () => {
  const columns = await store.query<{ name: string }>(
    `select name from system.columns where database = currentDatabase() and table = 'turns' and default_kind != 'ALIAS'
     and compression_codec in ('', 'CODEC(Default)')`,
  );
  expect(columns).toEqual([{ name: 'tool_result' }]);
});
