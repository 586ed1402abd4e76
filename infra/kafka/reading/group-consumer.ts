// A long-lived member of a consumer group.
//
// - Every generation has a session. Its `onAssigned` ends before its first batch is delivered. When its member starts to rejoin, the
// session is over and rejects commits: nothing of it is committed under a later generation.
// - Delivery is at least once: a batch is delivered again when its handler fails, and after a rebalance from the committed offset on.
// - Heartbeats continue while a handler runs, so a slow handler keeps its partitions, up to the rebalance timeout of 30 s once another
// member wants to join; then it is fenced.
// - A position that the log no longer has, because of retention or because the newest records are gone, is reported to the owner. Without a
// callback it becomes the first position of the partition.
// - A member that is frozen for longer than the session timeout is replaced; its commits are rejected when it wakes.
import type { EachBatchPayload, Kafka } from 'kafkajs';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import { isPlatformError, PlatformError } from '../../../streams/core/errors.ts';
import type { GroupConsumer, GroupOffsets, LogBatch, Logger, Position, GroupStartOptions } from '../../../streams/core/ports.ts';
import { logBatchOf } from '../records/batch.ts';
import type { ConsumerInstance, Joined, Passed } from './consumer-instance.ts';
import { ConsumerLoop } from './consumer-loop.ts';
import { KafkaGroupSession } from './group-session.ts';
import { kafkaError } from '../kafka-error.ts';
import type { PartitionOffsets } from './bounds.ts';
import type { TopicNames } from '../names.ts';
import type { createSkippedTeller } from './skipped.ts';
import type { TextReader } from '../texts/text-reader.ts';

export interface GroupConsumerOptions {
  readonly kafka: Kafka;
  readonly names: TopicNames;
  readonly logger: Logger;
  readonly offsets: GroupOffsets;
  readonly bounds: (topic: string) => Promise<readonly PartitionOffsets[]>;
  readonly tellSkipped: ReturnType<typeof createSkippedTeller>;
  /** Without it, turns stay without their shared texts. */
  readonly texts?: TextReader | undefined;
  /** A member that sends no heartbeat for this long loses its partitions, ms. */
  readonly sessionTimeoutMs?: number;
  readonly heartbeatMs?: number;
}

const DEFAULT_SESSION_MS = 6_000;
const DEFAULT_HEARTBEAT_MS = 1_000;

export function createGroupConsumer(options: GroupConsumerOptions): GroupConsumer {
  const { names } = options;
  let loop: ConsumerLoop | undefined;
  const pausedBefore = new Set<EventTopic>();
  return {
    async start(start) {
      const member = new GroupConsumerMember(options, start);
      loop = member.loop;
      for (const topic of pausedBefore) loop.pause(names.full(topic));
      await loop.start();
    },
    pause(topics) {
      for (const topic of topics) {
        pausedBefore.add(topic);
        loop?.pause(names.full(topic));
      }
    },
    resume(topics) {
      for (const topic of topics) {
        pausedBefore.delete(topic);
        loop?.resume(names.full(topic));
      }
    },
    close: async () => loop?.close(),
  };
}

interface Joining extends Joined {
  readonly instance: ConsumerInstance;
}

class GroupConsumerMember {
  readonly loop: ConsumerLoop;
  readonly #options: GroupConsumerOptions;
  readonly #start: GroupStartOptions;
  readonly #topics: ReadonlyMap<string, EventTopic>;
  #session: KafkaGroupSession | undefined;
  /** Partitions that will be read from their first record. */
  readonly #beginning = new Set<string>();
  /** Positions without records, handled between the batches. */
  #passing: Promise<void> = Promise.resolve();

  constructor(options: GroupConsumerOptions, start: GroupStartOptions) {
    this.#options = options;
    this.#start = start;
    this.#topics = new Map(start.topics.map((topic) => [options.names.full(topic), topic]));
    const sessionTimeoutMs = options.sessionTimeoutMs ?? DEFAULT_SESSION_MS;
    const heartbeatMs = options.heartbeatMs ?? Math.min(DEFAULT_HEARTBEAT_MS, sessionTimeoutMs / 4);
    this.loop = new ConsumerLoop({
      kafka: options.kafka,
      logger: options.logger,
      groupId: () => start.group,
      topics: [...this.#topics.keys()],
      sessionTimeoutMs,
      heartbeatMs,
      onJoined: ({ assigned }, instance) => {
        this.#begin(
          new KafkaGroupSession({ group: start.group, names: options.names, assigned, instance, patienceMs: DEFAULT_SESSION_MS }),
          {
            assigned,
            instance,
          },
        );
      },
      onLeaving: () => {
        this.#session?.end();
      },
      onBatch: (payload, instance) => this.#deliver(payload, instance),
      onPassed: (passed, instance) => {
        this.#pass(passed, instance);
      },
      onOutOfRange: (at, instance) => {
        this.#onOutOfRange(at, instance);
      },
      onEnded: ({ by, error }) => {
        if (isPlatformError(error, 'GROUP_FENCED')) return;
        start.onError(by === 'handler' ? error : kafkaError(`reading as a member of ${start.group}`, error));
      },
    });
  }

  /** Ends the previous generation and asks the owner where to start, once the owner is done with the previous generation. */
  #begin(session: KafkaGroupSession, joined: Joining): void {
    const before = this.#session;
    before?.end();
    this.#session = session;
    const settled = before?.ready.catch(() => undefined) ?? Promise.resolve();
    session.ready = settled.then(() => this.#assign(session, joined));
    session.ready.catch((error: unknown) => {
      if (!session.isOver()) joined.instance.fail({ by: 'handler', error });
    });
  }

  async #assign(session: KafkaGroupSession, { assigned, instance }: Joining): Promise<void> {
    if (session.isOver()) return;
    const known = assigned.flatMap(({ topic, partitions }) => {
      const short = this.#topics.get(topic);
      return short === undefined ? [] : [{ topic: short, partitions: [...partitions].sort((a, b) => a - b) }];
    });
    const positions: readonly Position[] = (await this.#start.onAssigned?.(known, session)) ?? [];
    if (session.isOver()) return;
    for (const { topic, partition, offset } of positions) {
      instance.consumer.seek({ topic: this.#options.names.full(topic), partition, offset: String(offset) });
    }
    session.isReady = true;
  }

  async #deliver(payload: EachBatchPayload, instance: ConsumerInstance): Promise<void> {
    const session = this.#session;
    const topic = this.#topics.get(payload.batch.topic);
    if (session === undefined || topic === undefined) return;
    const batch = logBatchOf(payload.batch, topic);
    await session.ready;
    await this.#passing;
    await this.#options.texts?.fill(batch);
    // A seek happened meanwhile, or the generation is over: the fetched records are not the wanted ones.
    if (session.isOver() || instance.isOver() || payload.isStale()) return;
    await this.#start.onBatch(batch, session);
    const last = payload.batch.messages.at(-1);
    if (last !== undefined) payload.resolveOffset(last.offset);
  }

  /** Ignored until the owner has chosen its start positions. After the callback, the member rejoins, so that the owner is asked again. */
  #onOutOfRange(at: { readonly topic: string; readonly partition: number }, instance: ConsumerInstance): void {
    const topic = this.#topics.get(at.topic);
    const session = this.#session;
    if (topic === undefined || session?.isReady !== true || session.isOver()) return;
    if (this.#start.onOutOfRange === undefined) {
      this.#beginAnew({ topic, partition: at.partition }, { session, instance }).catch((error: unknown) => {
        instance.fail({ by: 'kafka', error });
      });
      return;
    }
    this.#start.onOutOfRange({ topic, partition: at.partition });
    const error = new PlatformError('GROUP_FENCED', `reading ${at.topic}: the log does not have the position of partition ${at.partition}`);
    instance.fail({ by: 'handler', error });
  }

  /** Starts at the first record of the partition and commits that, so that other members see the skipped records as consumed. */
  async #beginAnew(
    { topic, partition }: { readonly topic: EventTopic; readonly partition: number },
    { session, instance }: { readonly session: KafkaGroupSession; readonly instance: ConsumerInstance },
  ): Promise<void> {
    const at = `${topic}/${partition}`;
    if (this.#beginning.has(at)) return;
    this.#beginning.add(at);
    try {
      const { bounds, names, offsets, tellSkipped, logger } = this.#options;
      const { group } = this.#start;
      const [log, committed] = await Promise.all([bounds(topic), offsets.fetch(group, topic)]);
      const first = log.find((one) => one.partition === partition)?.first ?? 0;
      const offset = committed.find((one) => one.partition === partition)?.offset ?? -1;
      if (offset >= 0 && offset < first) tellSkipped({ topic, partition, from: offset, to: first });
      else logger.warn({ topic, partition, offset }, `records of ${at} that ${group} has read are gone; reading it from its first record`);
      await session.commit([{ topic, partition, offset: first }]);
      instance.consumer.seek({ topic: names.full(topic), partition, offset: String(first) });
    } finally {
      this.#beginning.delete(at);
    }
  }

  #pass(passed: Passed, instance: ConsumerInstance): void {
    const session = this.#session;
    const topic = this.#topics.get(passed.topic);
    if (session?.isReady !== true || session.isOver() || topic === undefined) return;
    const batch: LogBatch = { ...passed, topic, records: [] };
    this.#passing = this.#passing.then(async () => {
      if (session.isOver()) return;
      await this.#start.onBatch(batch, session).catch((error: unknown) => {
        instance.fail({ by: 'handler', error });
      });
    });
  }
}
