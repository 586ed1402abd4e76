// Checks of the ledger over real tables: a correct ledger is intact, and each kind of damage is found at its entry.
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { BROKEN_ENTRY, brokenRun, intactRun, seedLedgers } from '../../../infra/testing/dashboard-ledger.ts';
import { GENESIS } from '../../../streams/ledger/chain.ts';
import type { Row, Store } from '../../../streams/core/ports.ts';
import { get, store } from '../api.testing.ts';
import { checkLedger } from './ledger-check.reader.ts';

const check = async (run: string) => get(`/v1/runs/${run}/ledger/check`);
const change = async (table: string, how: string, where: string): Promise<void> =>
  store.command(`alter table ${table} ${how} where run_id = '${intactRun}' and ${where} settings mutations_sync = 2`);

describe('the check of a ledger', () => {
  beforeAll(async () => {
    await seedLedgers(store);
  });

  it('finds nothing in a correct ledger', async () => {
    expect(await check(intactRun)).toMatchObject({ state: 'intact', entries: 21, first_broken: null });
  });

  it('finds two entries in one place', async () => {
    expect(await check(brokenRun)).toMatchObject({ state: 'broken', first_broken: { check: 'chain', sequence: BROKEN_ENTRY } });
  });

  it('finds published weights that are not those of their step', async () => {
    await change('policies', "update sha256 = 'other'", 'version = 5');
    expect(await check(intactRun)).toMatchObject({ state: 'broken', first_broken: { check: 'weights', sequence: 5 } });
    await change('policies', 'delete', 'version = 5');
    expect(await check(intactRun)).toMatchObject({ state: 'intact' });
  });

  it('finds a first entry that cannot start a ledger', async () => {
    await change('run_events', "update previous_sha256 = 'other'", 'sequence = 0');
    expect(await check(intactRun)).toMatchObject({ state: 'broken', first_broken: { check: 'start', sequence: 0 } });
    await change('run_events', `update previous_sha256 = '${GENESIS}'`, 'sequence = 0');
  });

  it('accepts a version that a rewind made, without a step', async () => {
    const hashOf = (text: string): string => text.padEnd(64, 'a');
    const row = { run_id: intactRun, at: '2026-11-20 08:00:00.000000', _topic: 'turnstream.training', _partition: 40 };
    const entry = (sequence: number) => ({ ...row, sequence, previous_sha256: hashOf(`e${sequence - 1}`), _offset: sequence });
    await store.insert('rewinds', [{ ...entry(21), version: 21, to_version: 18, abandoned: [19, 20], _timestamp: row.at }], 'rewound');
    const step = { step: 22, version_before: 21, version_after: 22, _timestamp: row.at };
    await store.insert('steps', [{ ...entry(22), ...step }], 'step-after-rewind');
    expect(await check(intactRun)).toMatchObject({ state: 'intact', entries: 23, first_broken: null });
  });

  it('distinguishes missing entries from a broken chain', async () => {
    await change('steps', 'delete', 'step = 9');
    expect(await check(intactRun)).toMatchObject({ state: 'incomplete', entries: 22, first_broken: { check: 'sequence', sequence: 10 } });
  });
});

/** The same store, for which no figures are kept. */
const withoutFolds = (): Store => ({
  database: store.database,
  ping: () => store.ping(),
  query: (sql, options) => store.query(sql, options),
  stream: (sql, options) => store.stream(sql, options),
  command: (sql, options) => store.command(sql, options),
  insert: (table, rows, as) => store.insert(table, rows, as),
  close: () => Promise.resolve(),
});

/** An entry in one of the tables of the ledger; some are damaged. */
const entry = fc.record({
  table: fc.constantFrom('steps', 'admissions', 'admissions', 'expired_attempts'),
  damage: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'missing', 'twice', 'claim'),
});

interface GrowingEntry {
  readonly table: string;
  readonly damage: string;
}

/** The rows of the start of a run and of the entries after it. */
function rowsOfEntries(run: string, entries: readonly GrowingEntry[]): readonly { readonly table: string; readonly row: Row }[] {
  const hashOf = (sequence: number): string => (sequence < 0 ? GENESIS : `${run}-${sequence}-`.padEnd(64, 'a'));
  const place = { _topic: 'turnstream.training', _partition: 41, _timestamp: '2026-11-20 08:00:00.000', at: '2026-11-20 08:00:00.000000' };
  let steps = 0;
  return [{ table: 'run_events', damage: 'none' }, ...entries].flatMap(({ table, damage }, sequence) => {
    const previous_sha256 = hashOf(damage === 'claim' ? Math.max(-1, sequence - 3) : sequence - 1);
    const row = { ...place, run_id: run, sequence, previous_sha256 };
    if (table === 'steps') steps += 1;
    const step = table === 'steps' ? { step: steps, version_before: steps - 1, version_after: steps } : {};
    const told = { table, row: { ...row, ...step, ...(table === 'run_events' ? { event: 'started' } : {}) } };
    return damage === 'missing' ? [] : damage === 'twice' ? [told, told] : [told];
  });
}

it('the check of a ledger that grows finds the same as one of all entries', async () => {
  const sizes = fc.array(fc.nat(7), { minLength: 3, maxLength: 6 });
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 5, maxLength: 30 }), sizes, fc.boolean(), async (entries, pieces, isWhole) => {
      runs += 1;
      const run = `growing-${runs}`;
      const rows = [...rowsOfEntries(run, isWhole ? entries.map(({ table }) => ({ table, damage: 'none' })) : entries)];
      let offset = runs * 1_000;
      for (const size of [...pieces, rows.length]) {
        for (const { table, row } of rows.splice(0, size + 1)) {
          offset += 1;
          await store.insert(table, [{ ...row, _offset: offset }], `${run}-${offset}`);
        }
        expect(await checkLedger(store, run)).toEqual(await checkLedger(withoutFolds(), run));
      }
    }),
    { numRuns: 6, seed: 5, endOnFailure: true },
  );
});
