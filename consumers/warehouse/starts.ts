// What a member finds out when partitions are assigned to it: what the group committed, what the tables hold and what the
// log has of them. In this order: what was read from the log before cannot be beyond its end afterwards.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { GroupOffsets, LogReader } from '../../streams/core/ports.ts';
import type { TopicStart } from './assignment.ts';
import { announced } from './bundle.ts';
import type { Holdings } from './holdings.ts';
import { tablesOf } from './rows/tables.ts';
import { planStart, type StartPlan } from './start-plan.ts';

export interface StartsDeps {
  readonly group: string;
  readonly offsets: GroupOffsets;
  readonly log: LogReader;
  readonly holdings: Holdings;
  /** Waits before the bounds are asked for once more; not forever. */
  readonly pause: () => Promise<void>;
}

export interface Assigned {
  readonly topic: EventTopic;
  readonly partitions: readonly number[];
}

/** A broker that has just become the leader may know less of the end than the one before, for a moment. */
const LOOKS = 4;

export async function findStart({ topic, partitions }: Assigned, deps: StartsDeps): Promise<Omit<TopicStart, 'limits'>> {
  const { group, offsets, log, holdings } = deps;
  const committed = (await offsets.fetch(group, topic)).filter(({ partition }) => partitions.includes(partition));
  const byPartition = new Map(committed.map((one) => [one.partition, one]));
  await holdings.settle(tablesOf(topic), partitions);
  const tops = await holdings.tops(topic, new Map(partitions.map((partition) => [partition, byPartition.get(partition)?.offset ?? -1])));
  for (let look = 1; ; look += 1) {
    const bounds = new Map((await log.bounds(topic)).map((one) => [one.partition, one]));
    const plans = new Map<number, { plan: StartPlan; end: number }>();
    for (const partition of partitions) {
      const { first, end } = bounds.get(partition) ?? { first: 0, end: 0 };
      const { offset, metadata } = byPartition.get(partition) ?? { offset: -1, metadata: '' };
      const top = tops.get(partition) ?? -1;
      const intended = announced(metadata, partition)?.find((one) => one.partition === partition)?.max ?? -1;
      plans.set(partition, { plan: planStart({ committed: offset, intended, first, end, top }), end });
    }
    if (look === LOOKS || [...plans.values()].every(({ plan }) => plan.kind !== 'tail-cut')) return { committed, plans };
    await deps.pause();
  }
}
