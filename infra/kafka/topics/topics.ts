// The topics of turnstream, and the code that brings a cluster in line with them: missing topics are created, partitions are added but
// never removed, retention follows the configuration. Safe to repeat and to run in several processes.
import type { Admin } from 'kafkajs';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Config } from '../../config/descriptors.ts';
import type { SharedAdmin } from './admin.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { kafkajs } from '../patches/kafkajs.ts';
import { MAX_MESSAGE_BYTES } from '../records/message.ts';
import type { TopicNames } from '../names.ts';

/** Compacted topic of the schemas; its records are not events. */
export const SCHEMAS_TOPIC = 'schemas';

/** Compacted topic of the start of each run (run-index.ts); its records are not events. */
export const RUNS_TOPIC = 'runs';

/** Compacted topic of the long texts that turns share (text-writer.ts); its records are not events. */
export const TEXTS_TOPIC = 'texts';

interface TopicSpec {
  /** Without the namespace. */
  readonly topic: EventTopic | typeof SCHEMAS_TOPIC | typeof RUNS_TOPIC | typeof TEXTS_TOPIC;
  readonly partitions: number;
  readonly replication: number;
  /** Topic configuration of Kafka, e.g. `retention.ms`. */
  readonly config: Readonly<Record<string, string>>;
}

export type TopicPlan = readonly TopicSpec[];

/** Names without the namespace. */
export interface TopicReport {
  readonly created: readonly string[];
  readonly grown: readonly { readonly topic: string; readonly from: number; readonly to: number }[];
  readonly reconfigured: readonly string[];
  readonly unchanged: readonly string[];
}

export interface ExistingTopic {
  /** Without the namespace. */
  readonly topic: string;
  readonly partitions: number;
}

export interface Topics {
  /** Throws TOPIC_MISMATCH before any change when a topic has more partitions than planned. */
  apply(plan: TopicPlan): Promise<TopicReport>;
  /** Topics of the namespace, sorted by name. */
  list(): Promise<readonly ExistingTopic[]>;
  /** Deletes the records before these offsets permanently. */
  cut(topic: EventTopic, before: readonly { readonly partition: number; readonly offset: number }[]): Promise<void>;
}

type PlanSettings = Pick<Config, 'replication' | 'partitionsRollouts' | 'partitionsTasks' | 'retentionHours'>;

export function topicPlanOf(config: PlanSettings): TopicPlan {
  const retentionMs = String(config.retentionHours < 0 ? -1 : config.retentionHours * 3_600_000);
  const common = {
    'max.message.bytes': String(MAX_MESSAGE_BYTES),
    ...(config.replication > 2 ? { 'min.insync.replicas': String(config.replication - 1) } : {}),
  };
  const kept = { ...common, 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' };
  const expiring = { ...common, 'cleanup.policy': 'delete', 'retention.ms': retentionMs };
  const spec = (topic: TopicSpec['topic'], partitions: number, entries: Readonly<Record<string, string>>): TopicSpec => ({
    topic,
    partitions,
    replication: config.replication,
    config: entries,
  });
  return [
    spec('questions', 1, kept),
    spec('tasks', config.partitionsTasks, expiring),
    spec('rollouts', config.partitionsRollouts, expiring),
    spec('training', 1, kept),
    spec('policies', 1, kept),
    spec('evaluations', 1, kept),
    spec('dead-letters', 1, expiring),
    spec(SCHEMAS_TOPIC, 1, { ...common, 'cleanup.policy': 'compact' }),
    spec(RUNS_TOPIC, 1, { ...common, 'cleanup.policy': 'compact' }),
    spec(TEXTS_TOPIC, 1, { ...common, 'cleanup.policy': 'compact' }),
  ];
}

export function createTopics(admin: SharedAdmin, names: TopicNames): Topics {
  const list = (): Promise<readonly ExistingTopic[]> => admin.use('listing topics', (client) => listTopics(client, names));
  return {
    list,
    async cut(topic, before) {
      const partitions = before.map(({ partition, offset }) => ({ partition, offset: String(offset) }));
      await admin.use(`deleting records of ${topic}`, async (client) => {
        // Without this call the client does not know the leaders.
        await client.fetchTopicOffsets(names.full(topic));
        await client.deleteTopicRecords({ topic: names.full(topic), partitions });
      });
    },
    async apply(plan) {
      const created = await admin.use('making topics', (client) => createMissing(client, { plan, names }));
      return admin.use('applying topics', async (client) => {
        const existing = new Map((await listTopics(client, names)).map(({ topic, partitions }) => [topic, partitions]));
        const grown = await grow(client, { plan, names, existing });
        const reconfigured = await reconfigure(client, { plan: plan.filter(({ topic }) => !created.includes(topic)), names });
        const touched = new Set([...created, ...grown.map(({ topic }) => topic), ...reconfigured]);
        return { created, grown, reconfigured, unchanged: plan.map(({ topic }) => topic).filter((topic) => !touched.has(topic)) };
      });
    },
  };
}

interface TopicsContext {
  readonly plan: TopicPlan;
  readonly names: TopicNames;
}

async function listTopics(client: Admin, names: TopicNames): Promise<readonly ExistingTopic[]> {
  const all = await client.listTopics();
  const ours = all.filter((name) => names.short(name) !== undefined);
  if (ours.length === 0) return [];
  const { topics } = await client.fetchTopicMetadata({ topics: ours });
  return topics
    .map(({ name, partitions }) => ({ topic: names.short(name) ?? name, partitions: partitions.length }))
    .sort((a, b) => (a.topic < b.topic ? -1 : 1));
}

/** Topics with a configurable number of partitions; all others have exactly one. */
const SCALABLE: ReadonlySet<string> = new Set(['tasks', 'rollouts']);

function assertNoShrink(plan: TopicPlan, existing: readonly ExistingTopic[]): void {
  const larger = plan.flatMap(({ topic, partitions }) => {
    const found = existing.find((candidate) => candidate.topic === topic);
    if (found === undefined || found.partitions <= partitions) return [];
    return SCALABLE.has(topic)
      ? [`${topic} has ${found.partitions} partitions, ${partitions} are configured: configure at least ${found.partitions}`]
      : [`${topic} has ${found.partitions} partitions and must have exactly ${partitions}: its order is total. Use another namespace`];
  });
  if (larger.length > 0) {
    throw new PlatformError('TOPIC_MISMATCH', `applying topics: ${larger.join('; ')}. Topics are never shrunk`);
  }
}

/** Another process may create the same topics at the same moment: then the topics are listed again. */
async function createMissing(client: Admin, { plan, names }: TopicsContext): Promise<readonly string[]> {
  const created: string[] = [];
  for (let attempt = 0; ; attempt += 1) {
    const existing = await listTopics(client, names);
    assertNoShrink(plan, existing);
    const missing = plan.filter(({ topic }) => !existing.some((candidate) => candidate.topic === topic));
    if (missing.length === 0) return created;
    try {
      const made = await client.createTopics({
        waitForLeaders: true,
        timeout: 15_000,
        topics: missing.map(({ topic, partitions, replication, config }) => ({
          topic: names.full(topic),
          numPartitions: partitions,
          replicationFactor: replication,
          configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
        })),
      });
      if (made) created.push(...missing.map(({ topic }) => topic));
    } catch (error) {
      if (attempt >= 5) throw withReasons(error);
    }
    await pause(100 * attempt);
  }
}

/** kafkajs hides the reason for each topic one level down. */
function withReasons(error: unknown): unknown {
  if (!(error instanceof Error) || !('errors' in error) || !Array.isArray(error.errors)) return error;
  const reasons = error.errors.map((one: unknown) => (one instanceof Error ? one.message : String(one)));
  return new Error([...new Set(reasons)].join('; '), { cause: error });
}

async function grow(
  client: Admin,
  { plan, names, existing }: TopicsContext & { readonly existing: ReadonlyMap<string, number> },
): Promise<TopicReport['grown']> {
  const grown = plan.flatMap(({ topic, partitions }) => {
    const from = existing.get(topic) ?? partitions;
    return from < partitions ? [{ topic, from, to: partitions }] : [];
  });
  if (grown.length > 0) {
    await client.createPartitions({
      timeout: 15_000,
      topicPartitions: grown.map(({ topic, to }) => ({ topic: names.full(topic), count: to })),
    });
  }
  return grown;
}

/** Marks a value that is set on the topic itself. */
const SET_ON_TOPIC = 1;

/** Kafka replaces all settings of a topic at once, so those that are not in the plan are read and kept. */
async function reconfigure(client: Admin, { plan, names }: TopicsContext): Promise<readonly string[]> {
  if (plan.length === 0) return [];
  const described = await client.describeConfigs({
    includeSynonyms: false,
    resources: plan.map(({ topic }) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name: names.full(topic) })),
  });
  const changes = plan.flatMap(({ topic, config }) => {
    const found = described.resources.find(({ resourceName }) => resourceName === names.full(topic));
    const current = new Map(found?.configEntries.map((entry) => [entry.configName, entry.configValue]));
    if (Object.entries(config).every(([name, value]) => current.get(name) === value)) return [];
    const set = (found?.configEntries ?? []).filter((entry) => (entry.configSource as number) === SET_ON_TOPIC);
    const merged = { ...Object.fromEntries(set.map((entry) => [entry.configName, entry.configValue])), ...config };
    return [{ topic, entries: Object.entries(merged).map(([name, value]) => ({ name, value })) }];
  });
  if (changes.length > 0) {
    await client.alterConfigs({
      validateOnly: false,
      resources: changes.map(({ topic, entries }) => ({
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: names.full(topic),
        configEntries: entries,
      })),
    });
  }
  return changes.map(({ topic }) => topic);
}
