import { describe, expect, it } from 'vitest';
import { randomEvent, seeded } from '../../testing/events.ts';
import { contentOf, type RecordContent } from './contents.ts';
import { compareRows, compareTrained, type StoredRow } from './tables.ts';

const random = seeded(1);
const records: readonly RecordContent[] = Array.from({ length: 20 }, (_, offset) =>
  contentOf({ partition: offset % 2, offset }, { type: 'TurnRecorded', event: randomEvent('TurnRecorded', random) }),
);
const stored: readonly StoredRow[] = records.map(({ partition, offset, table, checksum }) => ({
  partition,
  offset,
  table,
  checksum,
  times: 1,
}));
const change = (at: number, row: Partial<StoredRow>): readonly StoredRow[] =>
  stored.map((known, i) => (i === at ? { ...known, ...row } : known));

describe('the log and the tables', () => {
  it('are equal if every record is stored once', () => {
    expect(compareRows(records, stored)).toMatchObject({ records: 20, missing: 0, doubled: 0, changed: 0, extra: 0, problems: [] });
  });

  it.each([
    ['missing', stored.slice(1)],
    ['doubled', change(3, { times: 2 })],
    ['doubled', [...stored, { ...stored[3]!, checksum: '0' }]],
    ['changed', change(3, { checksum: '0' })],
    ['extra', [...stored, { ...stored[3]!, offset: 99 }]],
  ] as const)('differ when a row is %s', (kind, rows) => {
    const verdict = compareRows(records, rows);
    const counts = { missing: 0, doubled: 0, changed: 0, extra: 0, [kind]: 1 };
    expect(verdict).toMatchObject(counts);
    expect(verdict.problems).toHaveLength(1);
  });
});

describe('the steps and the rows of their trajectories', () => {
  const step: RecordContent = { partition: 0, offset: 7, table: 'steps', checksum: '0', trained: 4 };
  const row = { partition: 0, offset: 7, times: 4, differing: 4 };

  it.each([
    ['missing', [{ ...row, times: 3, differing: 3 }]],
    ['missing', []],
    ['doubled', [{ ...row, times: 5 }]],
    ['doubled', [{ ...row, times: 8 }]],
    ['changed', [{ ...row, times: 5, differing: 5 }]],
    ['extra', [row, { ...row, partition: 1 }]],
  ] as const)('differ when a row is %s', (kind, rows) => {
    const counts = { missing: 0, doubled: 0, changed: 0, extra: 0, [kind]: 1 };
    expect(compareTrained([step], rows)).toMatchObject({ ...counts, problems: [expect.any(String)] });
    expect(compareTrained([step], [row])).toMatchObject({ missing: 0, doubled: 0, changed: 0, extra: 0, problems: [] });
  });
});
