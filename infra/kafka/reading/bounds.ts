import type { SharedAdmin } from '../topics/admin.ts';
import type { TopicNames } from '../names.ts';

export interface PartitionOffsets {
  readonly partition: number;
  readonly first: number;
  readonly end: number;
}

/** The first offset of each partition, and the one after its last. */
export async function fetchBounds(
  { admin, names }: { readonly admin: SharedAdmin; readonly names: TopicNames },
  topic: string,
): Promise<readonly PartitionOffsets[]> {
  const offsets = await admin.use(`asking for the bounds of ${names.full(topic)}`, (client) => client.fetchTopicOffsets(names.full(topic)));
  return offsets
    .map(({ partition, low, high }) => ({ partition, first: Number(low), end: Number(high) }))
    .sort((a, b) => a.partition - b.partition);
}
