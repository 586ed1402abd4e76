// What a member reads when partitions are assigned to it: the group's commits, the content of the tables, and the log's bounds, in this
// order, so that the offsets that are read first cannot be beyond the end that is read last.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { GroupOffsets, LogReader, CommittedOffsets } from '../../streams/core/ports.ts';
import type { PartitionStart, TopicStart } from './assignment.ts';
import { announced } from './bundle.ts';
import type { Holdings, Top } from './holdings.ts';
import { tablesOf } from './rows/tables.ts';
import { planStart } from './start-plan.ts';

export interface StartsDeps {
  readonly group: string;
  readonly offsets: GroupOffsets;
  readonly log: LogReader;
  readonly holdings: Holdings;
  /** Waits for a limited time before the bounds are read again. */
  readonly pause: () => Promise<void>;
}

export interface Assigned {
  readonly topic: EventTopic;
  readonly partitions: readonly number[];
}

/** The last row below a committed offset is searched within this many offsets. */
const LOOK_BACK = 10_000;

/** Maximum reads of the bounds: a newly elected leader may briefly know a lower end than the previous one. */
const LOOKS = 4;

export async function findStart({ topic, partitions }: Assigned, deps: StartsDeps): Promise<Omit<TopicStart, 'limits'>> {
  const { group, offsets, log, holdings } = deps;
  const committed = (await offsets.fetch(group, topic)).filter(({ partition }) => partitions.includes(partition));
  const byPartition = new Map(committed.map((one) => [one.partition, one]));
  await holdings.endInserts(tablesOf(topic), partitions);
  const tops = await holdings.tops(topic, fromOf(partitions, byPartition));
  for (let look = 1; ; look += 1) {
    const bounds = new Map((await log.bounds(topic)).map((one) => [one.partition, one]));
    const plans = new Map<number, PartitionStart>();
    for (const partition of partitions) {
      const { first, end } = bounds.get(partition) ?? { first: 0, end: 0 };
      plans.set(partition, startOf({ partition, first, end, top: tops.get(partition), committed: byPartition.get(partition) }));
    }
    if (look === LOOKS || [...plans.values()].every(({ plan }) => plan.kind !== 'tail-cut')) return { committed, plans };
    await deps.pause();
  }
}

const fromOf = (partitions: readonly number[], committed: ReadonlyMap<number, { readonly offset: number }>): ReadonlyMap<number, number> =>
  new Map(partitions.map((partition) => [partition, Math.max((committed.get(partition)?.offset ?? -1) - LOOK_BACK, -1)]));

interface PartitionFacts {
  readonly partition: number;
  readonly first: number;
  readonly end: number;
  readonly top: Top | undefined;
  readonly committed: CommittedOffsets[number] | undefined;
}

function startOf({ partition, first, end, top, committed }: PartitionFacts): PartitionStart {
  const { offset, metadata } = committed ?? { offset: -1, metadata: '' };
  const plan = planStart({ committed: offset, intended: intendedIn(metadata, partition), first, end, top: top?.offset ?? -1 });
  return { plan, end, ...(top !== undefined && top.offset >= first ? { check: top } : {}) };
}

/** The last offset of its partition that a commit announces; -1 = none. */
export const intendedIn = (metadata: string, partition: number): number =>
  announced(metadata, partition)?.find((one) => one.partition === partition)?.max ?? -1;
