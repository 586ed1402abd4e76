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
