// A merged part with empty files, as a merge leaves it that ran while the disk was full: the rows are back after the next start.
import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestStore, type TestStore } from '../testing/store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startTestStore();
});
afterAll(() => store.stop());

const ask = async (query: string): Promise<string> => {
  const response = await fetch(`${store.url}/?${new URLSearchParams({ query }).toString()}`, { method: 'POST' });
  return response.text();
};

/** A table whose only active part was merged from three, and that part's directory. */
async function mergedTable(name: string): Promise<string> {
  await ask(`create table ${name} (a UInt32) engine = MergeTree order by a`);
  for (const from of [0, 100, 200]) await ask(`insert into ${name} select ${from} + number from numbers(100)`);
  await ask(`optimize table ${name} final`);
  return (await ask(`select path from system.parts where table = '${name}' and active`)).trim();
}

function emptyFiles(path: string): void {
  for (const file of readdirSync(path).map((name) => join(path, name))) if (statSync(file).isFile()) truncateSync(file);
}

it('is replaced by the parts that were merged, which are kept for some minutes', async () => {
  const path = await mergedTable('t');
  expect(Number(await ask("select value from system.merge_tree_settings where name = 'old_parts_lifetime'"))).toBeGreaterThanOrEqual(300);
  emptyFiles(path);
  await store.kill();
  await store.restart();
  expect(await ask('select count(), uniqExact(a) from t')).toBe('300\t300\n');
  expect(await ask('select reason from system.detached_parts')).toBe('broken-on-start\n');
});

it('ends the store when a statement reads it, so that the next start can replace it', async () => {
  emptyFiles(await mergedTable('read'));
  expect(await ask('select uniqExact(a) from read')).toMatch(/^Code: \d+/);
  expect(await store.ended()).toBe('SIGKILL');
  await store.restart();
  expect(await ask('select count(), uniqExact(a) from read')).toBe('300\t300\n');
});
