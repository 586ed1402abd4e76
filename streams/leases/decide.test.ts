import { describe, expect, it } from 'vitest';
import type { BatchLeased } from '../../schemas/generated/events.ts';
import { decideClaim, decideCommit, decideExpiry, decideExtend, decideLease, decidePublish, decideRelease, headOf } from './decide.ts';
import { newLeaseBook, parseBatchId, type CommittedVersion, type LeaseBook } from './lease-book.ts';

const commitOf = (version: number, rest: Partial<CommittedVersion> = {}): CommittedVersion => ({
  ...{
    version,
    batchId: version === 0 ? '' : `run-a/step/${version}.0`,
    lineage: `lineage-${version}`,
    weightsSha256: `weights-${version}`,
  },
  ...{ reportSha256: `report-${version}`, trajectories: 8, rewoundTo: -1, isAbandoned: false },
  ...rest,
});
const leaseOf = (step: number): BatchLeased =>
  ({ batch_id: `run-a/step/${step}.0`, step, batch_sha256: `rows-${step}` }) as unknown as BatchLeased;

/** Version 2 is the newest of three, and batches 3 and 4 are leased by the trainer of epoch 5. */
const bookOf = (rest: Partial<LeaseBook> = {}): LeaseBook => ({
  ...newLeaseBook(),
  ...{ epoch: 5, trainerId: 't', commits: [commitOf(0), commitOf(1), commitOf(2)], out: [leaseOf(3), leaseOf(4)] },
  tries: new Map([
    [3, 1],
    [4, 1],
  ]),
  ...rest,
});
const nothing = { lineage: undefined, prepared: undefined };
const prepared = (batchId: string, weightsSha256 = 'new') => ({ ...nothing, prepared: { batchId, weightsSha256 } });

describe('a claim', () => {
  it.each([
    ['without a checkpoint restores', nothing, { kind: 'claimed', epoch: 6, keeps: '', restore: true }],
    ['at the newest version continues', { ...nothing, lineage: 'lineage-2' }, { kind: 'claimed', restore: false }],
    ['of an older version restores', { ...nothing, lineage: 'lineage-1' }, { code: 'LINEAGE_MISMATCH', restore: true }],
    ['of an unknown version is refused', { ...nothing, lineage: 'other' }, { code: 'LINEAGE_UNKNOWN' }],
    ['keeps the batch that it has prepared', prepared('run-a/step/3.0'), { kind: 'claimed', keeps: 'run-a/step/3.0', restore: false }],
    ['learns that its step was committed', prepared('run-a/step/2.0', 'weights-2'), { kind: 'claimed', keeps: '', restore: false }],
    ['restores when its batch is gone', prepared('run-a/step/4.0'), { code: 'LINEAGE_MISMATCH', restore: true }],
    ['rewinds', { ...nothing, rewindTo: 1 }, { kind: 'claimed', rewind: { to: { version: 1 }, abandoned: [{ version: 2 }] } }],
    ['to the current version does not rewind', { ...nothing, rewindTo: 2 }, { kind: 'claimed', rewind: undefined }],
    ['does not rewind to an unknown version', { ...nothing, rewindTo: 7 }, { code: 'REWIND_REFUSED' }],
    ['does not rewind with another checkpoint', { ...nothing, lineage: 'lineage-2', rewindTo: 1 }, { code: 'REWIND_REFUSED' }],
    ['does not rewind with a prepared step', { ...prepared('run-a/step/3.0'), rewindTo: 1 }, { code: 'REWIND_REFUSED' }],
  ])('%s', (_, claim, wanted) => {
    expect(decideClaim(bookOf(), claim)).toMatchObject(wanted);
  });

  it('learns that its step was committed although the weights of the commit, or of the checkpoint, come later', () => {
    const committed = { kind: 'claimed', keeps: '', restore: false };
    const late = bookOf({ commits: [commitOf(0), commitOf(1), commitOf(2, { weightsSha256: '' })] });
    expect(decideClaim(late, prepared('run-a/step/2.0', 'weights-2'))).toMatchObject(committed);
    expect(decideClaim(bookOf(), prepared('run-a/step/2.0', ''))).toMatchObject(committed);
    expect(decideClaim(bookOf(), prepared('run-a/step/2.0', 'other'))).toMatchObject({ code: 'LINEAGE_MISMATCH', restore: true });
  });

  it('of an abandoned version restores', () => {
    const book = bookOf({ commits: [commitOf(0), commitOf(1, { isAbandoned: true }), commitOf(2, { rewoundTo: 0 })] });
    expect(decideClaim(book, { ...nothing, lineage: 'lineage-1' })).toMatchObject({ code: 'LINEAGE_MISMATCH', restore: true });
    expect(decideClaim(book, { ...nothing, lineage: 'lineage-2', rewindTo: 0 })).toMatchObject({ kind: 'claimed', rewind: undefined });
  });

  it('of a run without its first entry is an error', () => {
    expect(() => headOf(newLeaseBook())).toThrow(RangeError);
  });
});

describe('a lease', () => {
  const call = { epoch: 5, lineage: 'lineage-2', held: undefined };
  it.each([
    ['waits at the limit of leases', call, 1, { kind: 'wait' }],
    ['is the next step', call, 2, { kind: 'next', step: 5, tried: 0 }],
    ['is returned again if the response was lost', { ...call, held: ['run-a/step/3.0'] }, 2, { kind: 'again', lease: { step: 4 } }],
    ['is of the newest epoch', { ...call, epoch: 4 }, 2, { code: 'FENCED' }],
    ['is of the newest version', { ...call, lineage: 'lineage-1' }, 2, { code: 'LINEAGE_MISMATCH' }],
  ])('%s', (...[, asked, prefetch, wanted]) => {
    expect(decideLease(bookOf(), asked, prefetch)).toMatchObject(wanted);
  });

  it('is refused before anybody has claimed the run', () => {
    expect(decideLease(bookOf({ epoch: 0, trainerId: '' }), { ...call, epoch: 0 }, 2)).toMatchObject({ code: 'FENCED' });
  });
});

describe('a call about a batch', () => {
  const of = (batchId: string) => ({ epoch: 5, batchId });
  it.each([
    ['run-a/step/2.0', 'BATCH_COMMITTED'],
    ['run-a/step/1.7', 'BATCH_RELEASED'],
    ['run-a/step/9.0', 'NOT_FOUND'],
    ['no batch', 'NOT_FOUND'],
  ])('that is not leased is refused: %s', (batchId, code) => {
    expect(decideExtend(bookOf(), of(batchId))).toMatchObject({ code });
    expect(decideRelease(bookOf(), of(batchId))).toMatchObject({ code });
  });

  it('extends it, and releases it with all later ones', () => {
    expect(decideExtend(bookOf(), of('run-a/step/4.0'))).toMatchObject({ kind: 'extended', lease: { step: 4 } });
    expect(decideExtend(bookOf(), { ...of('run-a/step/4.0'), epoch: 4 })).toMatchObject({ code: 'FENCED' });
    const released = decideRelease(bookOf(), of('run-a/step/3.0'));
    expect(released).toMatchObject({ kind: 'released', releases: [{ lease: { step: 3 } }, { lease: { step: 4 } }] });
    expect(decideExpiry(bookOf(), (id) => id === 'run-a/step/4.0')).toMatchObject([{ lease: { step: 4 }, reason: 'expired' }]);
    expect(decideExpiry(bookOf(), () => false)).toEqual([]);
  });

  it.each([
    ['the first', 3, {}, { kind: 'first' }],
    ['out of order', 4, {}, { code: 'BATCH_OUT_OF_ORDER' }],
    ['with other rows', 3, { batchSha256: 'other' }, { code: 'BATCH_MISMATCH' }],
    ['of an older epoch', 3, { epoch: 4 }, { code: 'FENCED' }],
    ['repeated', 2, {}, { kind: 'repeat' }],
    ['repeated with another body', 2, { reportSha256: 'other' }, { code: 'BATCH_COMMITTED' }],
    ['of an unknown batch', 9, {}, { code: 'NOT_FOUND' }],
  ])('commits it: %s', (...[, step, rest, wanted]) => {
    const call = { ...of(`run-a/step/${step}.0`), batchSha256: `rows-${step}`, reportSha256: `report-${step}` };
    expect(decideCommit(bookOf(), { ...call, ...rest })).toMatchObject(wanted);
  });
});

describe('late weights', () => {
  it.each([
    ['of a version without a hash', { version: 1, sha256: 'any', epoch: undefined }, { kind: 'named' }],
    ['again', { version: 2, sha256: 'weights-2', epoch: 5 }, { kind: 'named' }],
    ['with another hash', { version: 2, sha256: 'other', epoch: undefined }, { code: 'WEIGHTS_CONFLICT' }],
    ['of an unknown version', { version: 3, sha256: 'any', epoch: undefined }, { code: 'NOT_FOUND' }],
    ['of an older epoch', { version: 2, sha256: 'weights-2', epoch: 4 }, { code: 'FENCED' }],
  ])('%s', (_, call, wanted) => {
    const book = bookOf({ commits: [commitOf(0), commitOf(1, { weightsSha256: '' }), commitOf(2)] });
    expect(decidePublish(book, call)).toMatchObject(wanted);
  });
});

it('reads the id of a batch', () => {
  expect(parseBatchId('run-a/step/12.3')).toEqual({ runId: 'run-a', step: 12, tried: 3 });
  expect(parseBatchId('run-a/step/x')).toBeUndefined();
});
