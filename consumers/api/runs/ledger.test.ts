import { expect, it } from 'vitest';
import { createFakeStore } from '../../../infra/testing/fake-store.ts';
import { tablesOf } from '../../warehouse/rows/tables.ts';
import { readLedger } from './ledger.reader.ts';

/** Tables whose entries are in the tables of steps and batches as well. */
const further: readonly string[] = ['step_trajectories', 'collected_trajectories'];

it('counts the entries of every table of the ledger', async () => {
  const store = createFakeStore();
  await readLedger(store, 'run-a', undefined);
  const asked = store.asked.map(({ sql }) => sql).join('\n');
  const tables = tablesOf('training').filter((table) => !further.includes(table));
  expect(tables.filter((table) => !asked.includes(`select sequence from ${table} where`))).toEqual([]);
});
