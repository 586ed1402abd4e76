import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuditFindings, type AuditDifference } from './audit-findings.ts';
import { addSums, checksumOf, NO_ROWS, type SideSum, type Tally } from './audit-tally.ts';

const hashes = fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 12 });
const sumOf = (all: readonly bigint[]): SideSum => ({
  rows: all.length,
  xored: all.reduce((sum, hash) => sum ^ hash, 0n).toString(),
  summed: BigInt.asUintN(
    64,
    all.reduce((sum, hash) => sum + hash, 0n),
  ).toString(),
});

describe('sums of a side', () => {
  it('are the same however the rows are cut into slices', () => {
    fc.assert(
      fc.property(fc.array(hashes, { maxLength: 6 }), (slices) => {
        expect(slices.map(sumOf).reduce(addSums, NO_ROWS)).toEqual(sumOf(slices.flat()));
      }),
    );
  });

  it('are shown as two numbers of 16 digits', () => {
    expect(checksumOf(sumOf([255n]))).toBe('00000000000000FF-00000000000000FF');
  });
});

describe('findings', () => {
  const tally: Tally = { topic: 'tasks', partition: 1, table: 'tasks', log: sumOf([1n]), stored: sumOf([1n]) };
  const difference: AuditDifference = {
    ...{ kind: 'extra', topic: 'tasks', partition: 1, offset: 3, table: 'tasks', logRows: 0, tableRows: 1 },
    columns: [],
  };

  it('continue after they were saved as JSON', () => {
    const findings = new AuditFindings(2);
    findings.tally(tally);
    findings.count('tasks', { records: 4, deadLetters: 1, uncovered: [{ partition: 0, offset: 9, reason: 'not_framed' }] });
    findings.reach('tasks', [{ partition: 1, first: 0, end: 7 }]);
    const again = new AuditFindings(2, JSON.parse(JSON.stringify(findings.state)) as typeof findings.state);
    expect(again.state).toEqual(findings.state);
    expect([again.reachedIn('tasks', 1), again.reachedIn('tasks', 2)]).toEqual([7, 0]);
    again.tally(tally);
    expect(again.tables()).toMatchObject([{ logRows: 2, tableRows: 2, equal: true }]);
    again.stray({ ...tally, log: NO_ROWS });
    expect(again.tables()).toMatchObject([{ logRows: 0, tableRows: 1, equal: false }]);
  });

  it('list a row once, and at most as many rows as the limit allows', () => {
    const findings = new AuditFindings(2);
    for (const offset of [3, 3, 4]) findings.name({ ...difference, offset });
    expect(findings.state).toMatchObject({ moreDifferences: false, differences: [{ offset: 3 }, { offset: 4 }] });
    findings.name({ ...difference, offset: 5 });
    expect(findings.state).toMatchObject({ moreDifferences: true, differences: [{ offset: 3 }, { offset: 4 }] });
  });
});
