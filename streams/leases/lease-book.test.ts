import { expect, it } from 'vitest';
import type { LedgerEntry } from '../ledger/chain.ts';
import type { CommitRequest } from './coordinator.ts';
import { decideClaim } from './decide.ts';
import { foldLeases, newLeaseBook } from './lease-book.ts';
import { reportHash } from './report-hash.ts';

const entry = (type: string, event: object): LedgerEntry => ({ type, event }) as unknown as LedgerEntry;

it('remembers the newest commits, and rejects the lineage of older ones as unknown', () => {
  const book = newLeaseBook();
  foldLeases(book, entry('RunStarted', { weights_sha256: '' }), 'hash 0');
  for (let step = 1; step <= 1_000; step += 1) {
    const versions = { step, version_before: step - 1, version_after: step };
    const committed = { ...versions, batch_id: `run-a/step/${step}.0`, weights_sha256: '', report_sha256: '', trajectories: [] };
    foldLeases(book, entry('StepCompleted', committed), `hash ${step}`);
  }
  const claim = (lineage: string) => decideClaim(book, { lineage, prepared: undefined });
  expect(claim('hash 1000')).toMatchObject({ kind: 'claimed' });
  expect(claim('hash 1')).toMatchObject({ code: 'LINEAGE_MISMATCH' });
  expect(claim('hash 0')).toMatchObject({ code: 'LINEAGE_UNKNOWN' });
});

it('recognizes a repeated commit under any epoch and order of fields, but not with other contents', () => {
  const skipped = [{ row: 3, reason: 'long' }];
  const request: CommitRequest = { epoch: 1, batch_sha256: 'rows', policy: null, metrics: { loss: 1, mine: 2 }, skipped };
  const same: CommitRequest = { skipped, metrics: { mine: 2, loss: 1 }, policy: null, batch_sha256: 'rows', epoch: 7 };
  expect(reportHash(same)).toBe(reportHash(request));
  expect(reportHash({ ...request, skipped: [] })).not.toBe(reportHash(request));
});
