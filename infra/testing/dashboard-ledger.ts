// Small runs whose ledgers the tables can check: one that is right, and one in which two entries claim the same place in the chain.
import type { Store } from '../../streams/core/ports.ts';
import { GENESIS } from '../../streams/ledger/chain.ts';

export const intactRun = 'ledger-intact';
export const brokenRun = 'ledger-broken';
/** Entry of the broken run that is wrong. */
export const BROKEN_ENTRY = 12;
const STEPS = 20;

const AT = '2026-11-20 08:00:00.000000';
const place = (partition: number, offset: number) => ({ _topic: 'turnstream.training', _partition: partition, _offset: offset, _timestamp: AT });
const hashOf = (text: string): string => text.padEnd(64, 'a');

/** The start of a run and its steps, each with the hash of the entry before it. */
export async function seedLedgers(store: Store): Promise<void> {
  for (const [at, run] of [intactRun, brokenRun].entries()) {
    const partition = 40 + at;
    const started = { run_id: run, event: 'started', sequence: 0, previous_sha256: GENESIS, dataset: 'factbook', steps: STEPS, at: AT };
    const steps = Array.from({ length: STEPS }, (_, index) => {
      const sequence = index + 1;
      const before = run === brokenRun && sequence === BROKEN_ENTRY ? BROKEN_ENTRY - 4 : index;
      return {
        ...{ run_id: run, step: sequence, sequence, previous_sha256: hashOf(`e${before}`), version_before: index, version_after: sequence },
        ...{ batch_sha256: hashOf(`b${index}`), weights_sha256: hashOf(`w${run === brokenRun && sequence > 7 ? 'x' : ''}${sequence}`) },
        ...{ reward_mean: 0.5, trajectories: 8, groups: 2, at: AT, ...place(partition, sequence) },
      };
    });
    const policies = steps.map(({ version_after: version, weights_sha256: sha256 }) => ({
      ...{ run_id: run, version, parent: version - 1, sha256, weights_bytes: 1, occurred_at: AT, ...place(partition, 100 + version) },
    }));
    await store.insert('run_events', [{ ...started, ...place(partition, 0) }], `${run}-start`);
    await store.insert('steps', steps, `${run}-steps`);
    await store.insert('policies', policies, `${run}-policies`);
  }
}
