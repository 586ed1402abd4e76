// Completes what a departed member announced: reads it back from the log and inserts what the tables do not hold. If the partitions of a
// bundle now belong to several members, each repeats the part of its own partitions.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { LogReader, LogRecord, CommittedOffsets } from '../../streams/core/ports.ts';
import { batchesOf } from '../../streams/core/read-log.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { announce, announced, type OffsetCommit, type PartitionBounds, type FlushWork } from './bundle.ts';
import type { TakenRecord } from './flush.ts';

export interface Repeat {
  readonly topic: EventTopic;
  /** For the partitions that this member owns. */
  readonly bounds: readonly PartitionBounds[];
  readonly commits: readonly OffsetCommit[];
}

/** The bundles that the commits of a member's partitions of a topic announce. */
export function repeatsIn(topic: EventTopic, committed: CommittedOffsets): readonly Repeat[] {
  const repeats = new Map<string, { bounds: PartitionBounds[]; commits: OffsetCommit[] }>();
  for (const { partition, offset, metadata } of committed) {
    const bounds = announced(metadata, partition);
    const own = bounds?.find((one) => one.partition === partition);
    if (bounds === undefined || own === undefined) continue;
    const key = JSON.stringify(bounds);
    const repeat = repeats.get(key) ?? { bounds: [], commits: [] };
    repeats.set(key, repeat);
    repeat.bounds.push(own);
    repeat.commits.push({ topic, partition, from: offset, next: own.max + 1, metadata });
  }
  return [...repeats.values()].map(({ bounds, commits }) => repeatOf(topic, bounds, commits));
}

function repeatOf(topic: EventTopic, bounds: readonly PartitionBounds[], commits: readonly OffsetCommit[]): Repeat {
  const metadata = announce(bounds);
  return { topic, bounds, commits: commits.map((commit) => ({ ...commit, metadata })) };
}

/** The part of a repeat that belongs to these partitions; empty when it has none of them. */
export function partOf({ topic, bounds, commits }: Repeat, has: (partition: number) => boolean): readonly Repeat[] {
  const own = bounds.filter(({ partition }) => has(partition));
  return own.length === 0
    ? []
    : [
        repeatOf(
          topic,
          own,
          commits.filter(({ partition }) => has(partition)),
        ),
      ];
}

/** Records that retention deleted from the beginning of the log are left out. If the log ends too early, this is an outage. */
export async function readBack(
  { topic, bounds, commits }: Repeat,
  deps: { readonly log: LogReader; readonly take: (record: LogRecord) => Promise<TakenRecord>; readonly signal: AbortSignal },
): Promise<FlushWork<TakenRecord>> {
  const ends = new Map((await deps.log.bounds(topic)).map(({ partition, end }) => [partition, end]));
  for (const { partition, max } of bounds) {
    const end = ends.get(partition) ?? 0;
    if (end <= max)
      throw new PlatformError('KAFKA_UNAVAILABLE', `reading back ${topic}/${partition}: it ends at ${end}, before ${max + 1}`);
  }
  const entries: TakenRecord[] = [];
  const range = {
    from: new Map(bounds.map(({ partition, min }) => [partition, min])),
    to: new Map(bounds.map(({ partition, max }) => [partition, max + 1])),
    signal: deps.signal,
  };
  for await (const { records } of batchesOf(deps.log, topic, range)) {
    for (const record of records) entries.push(await deps.take(record));
  }
  return { bundles: [{ topic, bounds, entries, asks: true }], commits };
}
