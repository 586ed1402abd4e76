// Checks of the ledger over real tables: what is right is intact, and each kind of damage is found at its entry.
import { beforeAll, describe, expect, it } from 'vitest';
import { BROKEN_ENTRY, brokenRun, intactRun, seedLedgers } from '../../../infra/testing/dashboard-ledger.ts';
import { GENESIS } from '../../../streams/ledger/chain.ts';
import { get, store } from '../api.testing.ts';

const check = async (run: string) => get(`/v1/runs/${run}/ledger/check`);
const change = async (table: string, how: string, where: string): Promise<void> =>
  store.command(`alter table ${table} ${how} where run_id = '${intactRun}' and ${where} settings mutations_sync = 2`);

describe('the check of a ledger', () => {
  beforeAll(async () => {
    await seedLedgers(store);
  });

  it('finds nothing in a ledger that is right', async () => {
    expect(await check(intactRun)).toMatchObject({ state: 'intact', entries: 21, first_broken: null });
  });

  it('finds two entries in one place', async () => {
    expect(await check(brokenRun)).toMatchObject({ state: 'broken', first_broken: { check: 'chain', sequence: BROKEN_ENTRY } });
  });

  it('finds weights that were published otherwise', async () => {
    await change('policies', "update sha256 = 'other'", 'version = 5');
    expect(await check(intactRun)).toMatchObject({ state: 'broken', first_broken: { check: 'weights', sequence: 5 } });
    await change('policies', 'delete', 'version = 5');
    expect(await check(intactRun)).toMatchObject({ state: 'intact' });
  });

  it('finds a start that is none', async () => {
    await change('run_events', "update previous_sha256 = 'other'", 'sequence = 0');
    expect(await check(intactRun)).toMatchObject({ state: 'broken', first_broken: { check: 'start', sequence: 0 } });
    await change('run_events', `update previous_sha256 = '${GENESIS}'`, 'sequence = 0');
  });

  it('takes a rewind for the version that it made, without a step', async () => {
    const hashOf = (text: string): string => text.padEnd(64, 'a');
    const row = { run_id: intactRun, at: '2026-11-20 08:00:00.000000', _topic: 'turnstream.training', _partition: 40 };
    const entry = (sequence: number) => ({ ...row, sequence, previous_sha256: hashOf(`e${sequence - 1}`), _offset: sequence });
    await store.insert('rewinds', [{ ...entry(21), version: 21, to_version: 18, abandoned: [19, 20], _timestamp: row.at }], 'rewound');
    const step = { step: 22, version_before: 21, version_after: 22, _timestamp: row.at };
    await store.insert('steps', [{ ...entry(22), ...step }], 'step-after-rewind');
    expect(await check(intactRun)).toMatchObject({ state: 'intact', entries: 23, first_broken: null });
  });

  it('tells entries that are missing from a chain that is broken', async () => {
    await change('steps', 'delete', 'step = 9');
    expect(await check(intactRun)).toMatchObject({ state: 'incomplete', entries: 22, first_broken: { check: 'sequence', sequence: 10 } });
  });
});
