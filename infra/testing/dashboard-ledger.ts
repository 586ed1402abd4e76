// Small runs whose ledgers the tables can check: one that is intact, and one in which two entries name the same previous entry. Also rows
// of samples that were given up, repeated, collected, or rewound.
import type { Row, Store } from '../../streams/core/ports.ts';
import { longRun } from './dashboard-world.ts';
import { GENESIS } from '../../streams/ledger/chain.ts';

export const intactRun = 'ledger-intact';
export const brokenRun = 'ledger-broken';
/** Entry of the broken run that is wrong. */
export const BROKEN_ENTRY = 12;
const STEPS = 20;

const AT = '2026-11-20 08:00:00.000000';
const place = (partition: number, offset: number) => ({
  _topic: 'turnstream.training',
  _partition: partition,
  _offset: offset,
  _timestamp: AT,
});
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

const RETRIED = 90;

/** Trajectories of the long run whose first attempt was lost; of the second ones, a step trained on some and others were discarded. */
export async function seedRetries(store: Store): Promise<void> {
  const at = (index: number): string => `2026-11-22 08:${String(index % 60).padStart(2, '0')}:00.000000`;
  const rows = Array.from({ length: RETRIED }, (_, index) => {
    const of = {
      run_id: longRun,
      group_id: `${longRun}-r${Math.floor(index / 4)}`,
      trajectory_id: `${longRun}-r${Math.floor(index / 4)}.${index % 4}`,
    };
    const where = (offset: number) => ({ ...place(60, RETRIED * offset + index) });
    const attempt = { ...of, purpose: 'train', worker_id: 'worker-1', question_id: 'q-1' };
    return {
      starts: [0, 1].map((number) => ({ ...attempt, attempt: number, occurred_at: at(index), ...where(number) })),
      expired: { ...of, sequence: 30_000 + index, attempt: 0, reason: 'silent', next_attempt: 1, at: at(index), ...where(2) },
      finished: {
        ...attempt,
        ...{ attempt: 1, status: 'answered', reward: 0.5, turns: 2, question: 'Which river?', answer: 'The Nile' },
        ...{ started_at: at(index), finished_at: at(index), occurred_at: at(index), ...where(3) },
      },
      trained: { ...of, attempt: 1, step: 500 + index, reward: 0.5, advantage: 0.25, at: at(index), ...where(4) },
      discarded: {
        ...of,
        attempt: 1,
        sequence: 40_000 + index,
        reason: 'stale',
        version: 600 + index,
        reward: 0.5,
        at: at(index),
        ...where(5),
      },
    };
  });
  const even = rows.filter((_, index) => index % 3 !== 0);
  const odd = rows.filter((_, index) => index % 3 === 0);
  await store.insert(
    'trajectory_starts',
    rows.flatMap(({ starts }) => starts),
    'retries-starts',
  );
  await store.insert(
    'expired_attempts',
    rows.map(({ expired }) => expired),
    'retries-expired',
  );
  await store.insert(
    'trajectories',
    rows.map(({ finished }) => finished),
    'retries-finished',
  );
  await store.insert(
    'step_trajectories',
    even.map(({ trained }) => trained),
    'retries-trained',
  );
  await store.insert(
    'discarded_trajectories',
    odd.map(({ discarded }) => discarded),
    'retries-discarded',
  );
}

export const collectedRun = 'fates-collected';
export const rewoundRun = 'fates-rewound';
/** Number of samples in each of the cases of seedRareFates. */
export const RARE = 20;
/** Version that the rewind went back to. */
const KEPT_VERSION = 10;

const hour = (number: number): string => `2026-11-22 ${String(number).padStart(2, '0')}:00:00.000000`;

/** The rows of one sample in each of the runs. */
function rareSample(index: number): Readonly<Record<string, readonly Row[]>> {
  const of = (run: string, attempt: number): Row => ({
    ...{ run_id: run, group_id: `${run}-f${index}`, trajectory_id: `${run}-f${index}.0`, attempt },
    ...place(61, 10 * index + 2 * [collectedRun, rewoundRun, longRun].indexOf(run) + attempt),
  });
  const ended = (run: string, attempt: number, at: string): Row => ({
    ...of(run, attempt),
    ...{ purpose: 'train', worker_id: 'worker-1', question_id: 'q-1', question: 'Which river?', answer: 'The Nile', status: 'answered' },
    ...{ reward: 0.5, turns: 2, started_at: hour(8), finished_at: at, occurred_at: at },
  });
  const kept = { sequence: 50_000 + index, reward: 0.5, advantage: 0.25, at: hour(10) };
  const given = { sequence: 70_000 + index, reason: 'silent', next_attempt: 1, at: hour(9) };
  return {
    trajectories: [ended(collectedRun, 0, hour(9)), ended(rewoundRun, 0, hour(9)), ended(longRun, 0, hour(11)), ended(longRun, 1, hour(9))],
    collected_trajectories: [{ ...of(collectedRun, 0), ...kept, batch: index + 1 }],
    step_trajectories: [
      { ...of(rewoundRun, 0), ...kept, step: index + 1 },
      { ...of(longRun, 1), ...kept, step: 700 + index },
    ],
    expired_attempts: [{ ...of(longRun, 0), ...given }],
  };
}

/**
 * Samples of a run that is collected; of a run whose rewind abandoned its later half; and samples of the long run whose first attempt was
 * given up, and finished after a step had trained on the second one.
 */
export async function seedRareFates(store: Store): Promise<void> {
  const samples = Array.from({ length: RARE }, (_, index) => rareSample(index));
  for (const table of Object.keys(samples[0] ?? {})) {
    await store.insert(
      table,
      samples.flatMap((sample) => sample[table] ?? []),
      `rare-${table}`,
    );
  }
  const abandoned = Array.from({ length: RARE - KEPT_VERSION }, (_, index) => KEPT_VERSION + 1 + index);
  const rewind = { run_id: rewoundRun, version: RARE + 1, to_version: KEPT_VERSION, abandoned, trajectories: abandoned.length };
  await store.insert('rewinds', [{ ...rewind, sequence: 60_000, at: hour(12), ...place(62, 0) }], 'rare-rewind');
}
