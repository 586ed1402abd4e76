// What a member announced that is gone since: it is read back from the log and goes in again under the same tokens, whole,
// though other members may have some of its partitions by now, and repeat it as well.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { GroupOffsets, LogReader, LogRecord } from '../../streams/core/ports.ts';
import { announced, type Commit, type PartitionBounds, type Work } from './bundle.ts';
import type { Taken } from './flush.ts';

export interface Repeat {
  readonly topic: EventTopic;
  readonly bounds: readonly PartitionBounds[];
  /** Of the partitions that this member has. */
  readonly commits: readonly Commit[];
}

export type Committed = Awaited<ReturnType<GroupOffsets['fetch']>>;

/** The bundles that the commits of a member's partitions of a topic announce. */
export function repeatsIn(topic: EventTopic, committed: Committed): readonly Repeat[] {
  const repeats = new Map<string, Repeat & { readonly commits: Commit[] }>();
  for (const { partition, offset, metadata } of committed) {
    const bounds = announced(metadata, partition);
    const own = bounds?.find((one) => one.partition === partition);
    if (bounds === undefined || own === undefined) continue;
    const commit = { topic, partition, from: offset, next: own.max + 1, metadata };
    const key = JSON.stringify(bounds);
    const known = repeats.get(key);
    if (known === undefined) repeats.set(key, { topic, bounds, commits: [commit] });
    else known.commits.push(commit);
  }
  return [...repeats.values()];
}

/** Records that left the log meanwhile are left out. */
export async function readBack(
  { topic, bounds, commits }: Repeat,
  deps: { readonly log: LogReader; readonly take: (record: LogRecord) => Promise<Taken>; readonly signal: AbortSignal },
): Promise<Work<Taken>> {
  const entries: Taken[] = [];
  await deps.log.readToEnd(topic, {
    from: new Map(bounds.map(({ partition, min }) => [partition, min])),
    to: new Map(bounds.map(({ partition, max }) => [partition, max + 1])),
    signal: deps.signal,
    onBatch: async ({ records }) => {
      for (const record of records) entries.push(await deps.take(record));
    },
  });
  return { bundles: [{ topic, bounds, entries }], commits };
}
