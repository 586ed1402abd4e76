import { describe, expect, it } from 'vitest';
import { Assignment, type PartitionStart } from './assignment.ts';
import { announce } from './bundle.ts';
import type { TakenRecord } from './flush.ts';

const limits = { records: 100, bytes: 1_000_000, waitMs: 10 };
const read = (from: number): PartitionStart => ({
  plan: { kind: 'read', from, askBelow: 0 },
  end: 30,
  check: { offset: from - 1, timestampMs: 1_000 },
});

/** Two partitions, each with the offsets 10 to 19 announced. */
function announcedOfTwo(): Assignment {
  const metadata = announce([
    { partition: 0, min: 10, max: 19 },
    { partition: 1, min: 10, max: 19 },
  ]);
  const assignment = new Assignment();
  const committed = [0, 1].map((partition) => ({ topic: 'rollouts' as const, partition, offset: 10, metadata }));
  assignment.add('rollouts', { committed, plans: new Map([0, 1].map((partition) => [partition, read(10)])), limits });
  return assignment;
}

const recordAt = (offset: number): TakenRecord['record'] => ({ offset, timestampMs: 1_000 }) as TakenRecord['record'];
const batchOf = (partition: number, from: number, to: number) => ({
  topic: 'rollouts' as const,
  partition,
  records: Array.from({ length: to - from }, (_, at) => recordAt(from + at)),
  nextOffset: to,
  endOffset: 30,
});

describe('ranges that a departed member had announced', () => {
  it('are inserted before a later range of their partition, even if another partition was not read yet', () => {
    const assignment = announcedOfTwo();
    expect(assignment.repeat()).toBeUndefined();
    assignment.check(batchOf(0, 9, 25));
    const entries = [
      { offset: 20, bytes: 1, record: recordAt(20), outcome: { kind: 'discard', reason: 'undecodable' } },
    ] as unknown as TakenRecord[];
    assignment.ranges('rollouts', 0)?.offer({ entries, nextOffset: 21, endOffset: 30 }, 0);
    const first = assignment.repeat();
    expect(first?.bounds).toEqual([{ partition: 0, min: 10, max: 19 }]);
    expect(first?.commits).toEqual([{ topic: 'rollouts', partition: 0, from: 10, next: 20, metadata: 'v1:10:19' }]);
    expect(assignment.repeat()).toBe(first);
    if (first !== undefined) assignment.removeRepeat(first);
    expect(assignment.repeat()).toBeUndefined();
    expect(assignment.due(1_000, true)).toMatchObject([{ partition: 0, range: { min: 20 } }]);
    assignment.check(batchOf(1, 9, 25));
    expect(assignment.repeat()?.bounds).toEqual([{ partition: 1, min: 10, max: 19 }]);
  });

  it('are inserted together when all of their partitions were read', () => {
    const assignment = announcedOfTwo();
    assignment.check(batchOf(0, 9, 25));
    assignment.check(batchOf(1, 9, 25));
    expect(assignment.repeat()?.bounds).toHaveLength(2);
  });
});

/** As many partitions as given, without a record before. */
function assignmentOf(partitions: number): Assignment {
  const assignment = new Assignment();
  const plans = new Map(Array.from({ length: partitions }, (_, at): [number, PartitionStart] => [at, startOf(0)]));
  assignment.add('rollouts', { committed: committedAt(partitions), plans, limits });
  return assignment;
}

const startOf = (from: number): PartitionStart => ({ plan: { kind: 'read', from, askBelow: 0 }, end: 1_000 });
const committedAt = (partitions: number) =>
  Array.from({ length: partitions }, (_, partition) => ({ topic: 'rollouts' as const, partition, offset: 0, metadata: '' }));

function offer(assignment: Assignment, partition: number, { count, nowMs }: { readonly count: number; readonly nowMs: number }): void {
  const ranges = assignment.ranges('rollouts', partition);
  const from = ranges?.position().next ?? 0;
  const entries = Array.from({ length: count }, (_, at) => ({ offset: from + at, bytes: 1, record: recordAt(from + at) }));
  ranges?.offer({ entries: entries as unknown as TakenRecord[], nextOffset: from + count, endOffset: 1_000 }, nowMs);
}

const duePartitions = (assignment: Assignment, nowMs: number): readonly number[] =>
  assignment.due(nowMs, false).map(({ partition }) => partition);

describe('ranges that are due', () => {
  it('are those of all partitions as soon as they fill an insert together', () => {
    const assignment = assignmentOf(4);
    for (const partition of [0, 1, 2]) offer(assignment, partition, { count: 30, nowMs: 0 });
    expect(duePartitions(assignment, 1)).toEqual([]);
    offer(assignment, 3, { count: 10, nowMs: 1 });
    expect(duePartitions(assignment, 1)).toEqual([0, 1, 2, 3]);
  });

  it('fill a few inserts at most, and no partition waits for those that are read after it', () => {
    const assignment = assignmentOf(8);
    const stored = Array.from({ length: 8 }, () => 0);
    for (let round = 1; round <= 16; round += 1) {
      for (let partition = 0; partition < 8; partition += 1) offer(assignment, partition, { count: 60, nowMs: round });
      const due = assignment.due(round, false);
      const records = due.reduce((sum, { range }) => sum + range.entries.length, 0);
      expect(records).toBeLessThan(4 * limits.records);
      for (const { partition, range } of due) stored[partition] = (stored[partition] ?? 0) + range.entries.length;
      assignment.removeStored(due);
    }
    expect(Math.min(...stored)).toBeGreaterThan(0);
    expect(Math.max(...stored) - Math.min(...stored)).toBeLessThanOrEqual(2 * limits.records);
  });
});
