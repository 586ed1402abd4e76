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

it('is replaced by the parts that were merged, which are kept for some minutes', async () => {
  await ask('create table t (a UInt32) engine = MergeTree order by a');
  for (const from of [0, 100, 200]) await ask(`insert into t select ${from} + number from numbers(100)`);
  await ask('optimize table t final');
  expect(Number(await ask("select value from system.merge_tree_settings where name = 'old_parts_lifetime'"))).toBeGreaterThanOrEqual(300);
  const path = (await ask("select path from system.parts where table = 't' and active")).trim();
  for (const file of readdirSync(path).map((name) => join(path, name))) if (statSync(file).isFile()) truncateSync(file);
  await store.kill();
  await store.restart();
  expect(await ask('select count(), uniqExact(a) from t')).toBe('300\t300\n');
  expect(await ask('select reason from system.detached_parts')).toBe('broken-on-start\n');
});
