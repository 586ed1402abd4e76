// Committed offsets of groups, for programs that are not members.
import type { Kafka } from 'kafkajs';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { GroupOffsets, Logger, Position } from '../../../streams/core/ports.ts';
import type { SharedAdmin } from '../topics/admin.ts';
import { settledWithin } from '../../lifecycle/waiting.ts';
import { ConsumerInstance } from './consumer-instance.ts';
import { kafkaError } from '../kafka-error.ts';
import type { PartitionOffsets } from './bounds.ts';
import type { TopicNames } from '../names.ts';

export interface OffsetsOptions {
  readonly kafka: Kafka;
  readonly admin: SharedAdmin;
  readonly names: TopicNames;
  readonly logger: Logger;
  readonly bounds: (topic: string) => Promise<readonly PartitionOffsets[]>;
}

/** Records between the committed offset and the end of a partition; counted from its first record when nothing was committed. */
interface PartitionLag {
  readonly partition: number;
  readonly committed: number;
  readonly end: number;
  readonly lag: number;
}

export interface KafkaGroupOffsets extends GroupOffsets {
  lag(group: string, topic: EventTopic): Promise<readonly PartitionLag[]>;
  /** Current number of members; a dead one counts until its session times out. */
  members(group: string): Promise<number>;
  /** Deletes a group and its committed offsets, as a broker does after days without members; false while it has members. */
  forget(group: string): Promise<boolean>;
  /** Commits for a group without members; throws GROUP_FENCED when it has some. Later members start at these positions. */
  set(group: string, positions: readonly (Position & { readonly metadata?: string })[]): Promise<void>;
}

/** No offset. For a deleted offset kafkajs commits -2, which means the first record. */
const NONE = -1;

export function createGroupOffsets(options: OffsetsOptions): KafkaGroupOffsets {
  const { admin, names } = options;

  const fetch: GroupOffsets['fetch'] = async (group, topic) => {
    const full = names.full(topic);
    const answers = await admin.use(`asking for the offsets of ${group}`, (client) =>
      client.fetchOffsets({ groupId: group, topics: [full] }),
    );
    return (answers[0]?.partitions ?? [])
      .map(({ partition, offset, metadata }) => ({ partition, offset: Math.max(NONE, Number(offset)), metadata: metadata ?? '' }))
      .sort((a, b) => a.partition - b.partition);
  };

  return {
    fetch,
    members: (group) => countMembers(admin, group, `asking for the members of ${group}`),
    async lag(group, topic) {
      const [committed, bounds] = await Promise.all([fetch(group, topic), options.bounds(topic)]);
      const byPartition = new Map(committed.map(({ partition, offset }) => [partition, offset]));
      return bounds.map(({ partition, first, end }) => {
        const offset = byPartition.get(partition) ?? -1;
        return { partition, committed: offset, end, lag: Math.max(0, end - Math.max(offset, first)) };
      });
    },
    async forget(group) {
      if ((await countMembers(admin, group, `asking for the members of ${group}`)) > 0) return false;
      await admin.use(`removing the group ${group}`, (client) => client.deleteGroups([group]));
      return true;
    },
    async set(group, positions) {
      if (positions.length > 0) await setOffsets(options, group, positions);
    },
  };
}

const SET_TIMEOUT_MS = 20_000;

async function countMembers(admin: SharedAdmin, group: string, doing: string): Promise<number> {
  const { groups } = await admin.use(doing, (client) => client.describeGroups([group]));
  return groups[0]?.members.length ?? 0;
}

/** Joins the group as its only member for the duration of the commit: these offsets are readable at once, unlike those of a transaction. */
async function setOffsets(
  options: OffsetsOptions,
  group: string,
  positions: readonly (Position & { readonly metadata?: string })[],
): Promise<void> {
  const { admin, kafka, names } = options;
  const doing = `setting the offsets of ${group}`;
  const members = await countMembers(admin, group, doing);
  if (members > 0) throw new PlatformError('GROUP_FENCED', `${doing}: the group has ${members} members`);
  const topics = [...new Set(positions.map(({ topic }) => topic))];
  const instance = new ConsumerInstance({
    kafka,
    groupId: group,
    topics: topics.map((topic) => names.full(topic)),
    sessionTimeoutMs: 8_000,
    heartbeatMs: 2_000,
    onJoined: (_joined, self) => {
      self.consumer.pause(topics.map((topic) => ({ topic: names.full(topic) })));
    },
    onBatch: async () => undefined,
    onPassed: () => undefined,
  });
  const commit = async (): Promise<void> => {
    await instance.start();
    await instance.commit({
      topics: topics.map((topic) => ({
        topic: names.full(topic),
        partitions: positions
          .filter((position) => position.topic === topic)
          .map(({ partition, offset, metadata }) => ({ partition, offset: String(offset), metadata: metadata ?? null })),
      })),
    });
  };
  try {
    const work = commit();
    if (!(await settledWithin(SET_TIMEOUT_MS, work))) throw new Error(`no answer within ${SET_TIMEOUT_MS / 1000} s`);
    await work;
  } catch (error) {
    throw kafkaError(doing, error);
  } finally {
    await instance.dispose();
  }
}
