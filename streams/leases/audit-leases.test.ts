import { describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../ledger/chain.ts';
import { createLeaseAudit } from './audit-leases.ts';

const entry = (type: string, event: object): LedgerEntry => ({ type, event }) as unknown as LedgerEntry;
const started = entry('RunStarted', { weights_sha256: '' });
const claimed = (epoch: number, prepared = '') => entry('TrainerClaimed', { epoch, trainer_id: 't', prepared });
const trajectories = [{ trajectory_id: 'a.0', attempt: 0 }];
const lease = { step: 1, epoch: 1, version_before: 0, group_ids: ['a'], batch_sha256: 'rows', trajectories, rows: 2 };
const leased = (rest: object = {}) => entry('BatchLeased', { batch_id: 'run-a/step/1.0', ...lease, ...rest });
const released = (batchId: string) => entry('BatchReleased', { batch_id: batchId });
const made = { batch_sha256: 'rows', trajectories, trained_rows: 2, lineage: 'hash 0', weights_sha256: 'w' };
const step = { step: 1, version_before: 0, version_after: 1, ...made };
const committed = (rest: object = {}) => entry('StepCompleted', { batch_id: 'run-a/step/1.0', report_sha256: 'report', ...step, ...rest });
const back = { version: 2, to_version: 0, epoch: 2, weights_sha256: '', abandoned: [1], trajectories: 1 };
const rewound = (rest: object = {}) => entry('RunRewound', { ...back, ...rest });
const named = (version: number, sha256: string) => entry('WeightsNamed', { version, sha256 });

/** What is wrong with the last of these entries; those before it have to be right. */
function auditLast(entries: readonly LedgerEntry[]): string {
  const audit = createLeaseAudit();
  const found = entries.map((one, at) => audit.take(one, `hash ${at}`));
  expect(found.slice(0, -1).flat()).toEqual([]);
  return (found.at(-1) ?? []).join('; ');
}

const run = [started, claimed(1), leased()];
const trained = [...run, committed()];

describe('the entries of leases', () => {
  it.each([
    ['a step', trained],
    ['a step without a lease', [started, committed({ batch_id: '' })]],
    ['a released batch, leased again', [...run, released('run-a/step/1.0'), leased({ batch_id: 'run-a/step/1.1' })]],
    ['a claim that keeps its batch', [...run, claimed(2, 'run-a/step/1.0')]],
    ['a rewind', [...trained, claimed(2), rewound()]],
    ['late weights', [started, named(0, 'x')]],
    ['entries after a start that the log no longer has', [claimed(1), leased(), committed({ lineage: '' })]],
  ])('are right: %s', (_, entries) => {
    expect(auditLast(entries)).toBe('');
  });

  it.each([
    ['an epoch that is left out', [started, claimed(2)], 'follows epoch 0'],
    ['a claim with open leases', [...run, claimed(2)], 'while leases of the previous epoch are open'],
    ['a lease of another epoch', [started, claimed(1), leased({ epoch: 3 })], 'is leased under epoch 3'],
    ['a lease of another step', [started, claimed(1), leased({ step: 2 })], 'the next step is 1'],
    ['a group that is leased twice', [...run, leased({ batch_id: 'run-a/step/2.0', step: 2, version_before: 1 })], 'a second time'],
    ['a release of nothing', [...run, released('run-a/step/7.0')], 'but was not leased'],
    ['a commit of another batch', [...run, committed({ batch_id: 'run-a/step/1.1' })], 'not the first leased batch'],
    ['a commit for another step', [...run, committed({ step: 2 })], 'leased for 1'],
    ['a commit of other rows', [...run, committed({ batch_sha256: 'x' })], 'other rows'],
    ['a commit of fewer rows than none', [...run, committed({ trained_rows: -1 })], 'trained on -1 rows'],
    ['a commit of more rows than were leased', [...run, committed({ trained_rows: 3 })], 'trained on 3 rows'],
    ['a commit of other trajectories', [...run, committed({ trajectories: [] })], 'other trajectories'],
    ['a commit on another version', [...run, committed({ lineage: 'x' })], 'does not follow the previous commit'],
    ['a rewind to nothing', [...trained, claimed(2), rewound({ to_version: 9, abandoned: [], trajectories: 0 })], 'is not based on'],
    ['a rewind with another number', [...trained, claimed(2), rewound({ version: 5 })], 'the newest is 1'],
    ['a rewind without a claim', [...trained, rewound()], 'not right after a claim'],
    ['a rewind to other weights', [...trained, claimed(2), rewound({ weights_sha256: 'x' })], 'has other weights'],
    ['a rewind over other steps', [...trained, claimed(2), rewound({ abandoned: [] })], 'other steps'],
    ['a rewind of a run without a start', [claimed(1), rewound({ epoch: 1, abandoned: [], trajectories: 0 })], 'the newest is 0'],
    ['weights of nothing', [started, named(4, 'x')], 'but no entry made that version'],
    ['other weights', [...trained, named(1, 'x')], 'is published with other weights'],
  ])('are wrong: %s', (_, entries, problem) => {
    expect(auditLast(entries)).toContain(problem);
  });
});
