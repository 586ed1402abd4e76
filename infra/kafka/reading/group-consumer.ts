// A lasting member of a consumer group.
//
// - Every generation has a session. Its `onAssigned` ends before the first of its batches is delivered. It is over, and
//   refuses commits, from the moment that its member begins to join again: nothing of it goes out under a later one.
// - A batch is delivered again when its handler failed, and after a rebalance from the committed offset on: at least once.
// - Heartbeats go on while a handler runs, so a slow handler keeps its partitions, up to the rebalance timeout of 30 s
//   once another member wants to join; then it is fenced.
// - A position that the log does not have, since retention deleted it or the newest records are gone, is told to the owner.
//   For an owner that does not want to know, it becomes the first of the partition.
// - Frozen for longer than the session timeout, the member is replaced; its commits are refused when it wakes.
import type { EachBatchPayload, Kafka } from 'kafkajs';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import { isPlatformError, PlatformError } from '../../../streams/core/errors.ts';
import type { GroupConsumer, GroupOffsets, LogBatch, Logger, Position } from '../../../streams/core/ports.ts';
import { logBatchOf } from '../records/batch.ts';
import type { ConsumerInstance, Joined, Passed } from './consumer-instance.ts';
import { ConsumerLoop } from './consumer-loop.ts';
import { Session } from './group-session.ts';
import { kafkaError } from '../kafka-error.ts';
import type { Bounds } from './log-reader.ts';
import type { Names } from '../names.ts';
import type { createSkippedTeller } from './skipped.ts';
import type { TextReader } from '../texts/text-reader.ts';

export interface GroupConsumerOptions {
  readonly kafka: Kafka;
  readonly names: Names;
  readonly logger: Logger;
  readonly offsets: GroupOffsets;
  readonly bounds: (topic: string) => Promise<readonly Bounds[]>;
  readonly tellSkipped: ReturnType<typeof createSkippedTeller>;
  /** Without it turns stay without the texts that they were written without. */
  readonly texts?: TextReader | undefined;
  /** A member that is silent for longer loses its partitions, ms. */
  readonly sessionTimeoutMs?: number;
  readonly heartbeatMs?: number;
}

type StartOptions = Parameters<GroupConsumer['start']>[0];

const DEFAULT_SESSION_MS = 6_000;
const DEFAULT_HEARTBEAT_MS = 1_000;

export function createGroupConsumer(options: GroupConsumerOptions): GroupConsumer {
  const { names } = options;
  let loop: ConsumerLoop | undefined;
  const pausedBefore = new Set<EventTopic>();
  return {
    async start(start) {
      const member = new Member(options, start);
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

class Member {
  readonly loop: ConsumerLoop;
  readonly #options: GroupConsumerOptions;
  readonly #start: StartOptions;
  readonly #topics: ReadonlyMap<string, EventTopic>;
  #session: Session | undefined;
  /** Partitions that are about to be read from their first record. */
  readonly #beginning = new Set<string>();
  /** Batches of nothing, which are handled between the others. */
  #passing: Promise<void> = Promise.resolve();

  constructor(options: GroupConsumerOptions, start: StartOptions) {
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
        this.#begin(new Session({ group: start.group, names: options.names, assigned, instance, patienceMs: DEFAULT_SESSION_MS }), {
          assigned,
          instance,
        });
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

  /** Ends the generation before and asks the owner where to start, once it is done with the generation before. */
  #begin(session: Session, joined: Joining): void {
    const before = this.#session;
    before?.end();
    this.#session = session;
    const settled = before?.ready.catch(() => undefined) ?? Promise.resolve();
    session.ready = settled.then(() => this.#assign(session, joined));
    session.ready.catch((error: unknown) => {
      if (!session.isOver()) joined.instance.fail({ by: 'handler', error });
    });
  }

  async #assign(session: Session, { assigned, instance }: Joining): Promise<void> {
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
    // A position was asked for meanwhile, or the generation is over: what was fetched is not what is wanted.
    if (session.isOver() || instance.isOver() || payload.isStale()) return;
    await this.#start.onBatch(batch, session);
    const last = payload.batch.messages.at(-1);
    if (last !== undefined) payload.resolveOffset(last.offset);
  }

  /** Before the owner has said where to start it will still say so. Afterwards it is asked again. */
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

  /** At the first record of the partition, for others as well: what is committed counts as taken. */
  async #beginAnew(
    { topic, partition }: { readonly topic: EventTopic; readonly partition: number },
    { session, instance }: { readonly session: Session; readonly instance: ConsumerInstance },
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
