// One instance of a kafkajs consumer: from its connection to its first failure of any kind. It never restarts itself; consumer-loop.ts
// creates the next one.
//
// Works around these faults of kafkajs: it sends no heartbeats while a handler runs, so a timer does; it silently drops commits of a
// consumer that is not running, so they are rejected here; batches of only control or aborted records never reach the handler, so their
// positions are reported from its events; a consumer whose loop died without a crash event is detected by its silence; a consumer that
// joined its group only halfway is ended.
import type { Consumer, ConsumerConfig, EachBatchPayload, Kafka } from 'kafkajs';
import { messageOf } from '../../../streams/core/errors.ts';
import { settledWithin } from '../../lifecycle/waiting.ts';
import { protocolType } from '../kafka-error.ts';
import { outOfRangeListeners, type OutOfRange } from '../patches/out-of-range.ts';
import { deferred } from '../../../streams/core/waiting.ts';

const WATCH_MS = 5_000;
const SILENCE_MS = 90_000;
const JOIN_LIMIT_MS = 2_000;
const DISCONNECT_LIMIT_MS = 10_000;

/** How long a fetch waits for new records, ms. A pause, a seek or a stop takes effect within this time. */
const MAX_WAIT_MS = 250;

/** Limits of a fetch, in uncompressed bytes. */
const BYTES_OF_PARTITION = 2 * 1024 * 1024;
const BYTES_OF_FETCH = 16 * 1024 * 1024;

export interface TopicAssignment {
  readonly topic: string;
  readonly partitions: readonly number[];
}

export interface Passed {
  readonly topic: string;
  readonly partition: number;
  readonly nextOffset: number;
  readonly endOffset: number;
}

export interface Joined {
  readonly assigned: readonly TopicAssignment[];
}

export interface InstanceOptions {
  readonly kafka: Kafka;
  readonly groupId: string;
  /** Full names. */
  readonly topics: readonly string[];
  readonly sessionTimeoutMs: number;
  readonly heartbeatMs: number;
  /** Uncompressed bytes per fetch; all of them may come from one partition. Default: up to 2 MiB per partition. */
  readonly fetchBytes?: number;
  /** Called when a generation begins, before anything is fetched. */
  readonly onJoined: (joined: Joined, instance: ConsumerInstance) => void;
  /** The member is rejoining its group: anything it does from now on belongs to another generation. */
  readonly onLeaving?: () => void;
  /** Handles a batch. An error ends this instance, except a fence, after which the member rejoins. */
  readonly onBatch: (payload: EachBatchPayload, instance: ConsumerInstance) => Promise<void>;
  /** The log does not have this position. Without a callback, kafkajs continues at the first record. */
  readonly onOutOfRange?: ((at: { readonly topic: string; readonly partition: number }, instance: ConsumerInstance) => void) | undefined;
  /** Offsets without records for a reader. */
  readonly onPassed: (passed: Passed, instance: ConsumerInstance) => void;
}

/** How an instance ended: by an error of the handler or of Kafka, or because it was closed. */
export interface InstanceEnd {
  readonly by: 'handler' | 'kafka' | 'closing';
  readonly error: unknown;
}

export type OffsetsToCommit = NonNullable<Parameters<EachBatchPayload['commitOffsetsIfNecessary']>[0]>;

/** Thrown into kafkajs to make it rejoin the group. */
class RejoinError extends Error {
  readonly type = 'REBALANCE_IN_PROGRESS';
  readonly retriable = true;
}

/** Thrown into kafkajs to make it stop without a retry. */
class StopError extends Error {
  readonly retriable = false;
}

export class ConsumerInstance {
  readonly consumer: Consumer;
  /** Resolves when the instance has ended. */
  readonly ended: Promise<InstanceEnd>;
  readonly #options: InstanceOptions;
  readonly #end = deferred<InstanceEnd>();
  #over = false;
  #started: Promise<void> | undefined;
  #handler: Promise<void> | undefined;
  #joining: Promise<void> | undefined;
  #lastSign = performance.now();
  /** It is between two generations. */
  #isJoining = false;
  #commit: ((offsets: OffsetsToCommit) => Promise<void>) | undefined;
  #watchdog: NodeJS.Timeout | undefined;
  #memberId = '';
  readonly #onOutOfRange = ({ topic, partition, memberId }: OutOfRange): void => {
    if (memberId === this.#memberId && !this.#over) this.#options.onOutOfRange?.({ topic, partition }, this);
  };

  constructor(options: InstanceOptions) {
    this.#options = options;
    this.ended = this.#end.promise;
    this.consumer = options.kafka.consumer(consumerConfig(options));
    this.#hearOutOfRange(true);
    this.#listen();
  }

  isOver(): boolean {
    return this.#over;
  }

  /** Resolves when the member has joined the group for the first time; rejects when that fails. */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  /** Ends the instance; only the first call counts. */
  fail(ending: InstanceEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#end.resolve(ending);
  }

  /** Waits for a running handler, leaves the group and disconnects. */
  async dispose(): Promise<void> {
    this.fail({ by: 'closing', error: undefined });
    clearInterval(this.#watchdog);
    this.#hearOutOfRange(false);
    await this.#handler?.catch(() => undefined);
    // A consumer that is stopped while it joins continues afterwards, so it is stopped again.
    const joined = this.#joining === undefined || (await settledWithin(JOIN_LIMIT_MS, this.#joining));
    const disconnect = (): Promise<boolean> => settledWithin(joined ? DISCONNECT_LIMIT_MS : JOIN_LIMIT_MS, this.consumer.disconnect());
    if (!joined) void this.#joining?.then(disconnect, disconnect);
    await disconnect();
  }

  /** Commits with the current generation. Before the first batch, only after start() has resolved. */
  async commit(offsets: OffsetsToCommit): Promise<void> {
    if (this.#commit !== undefined) return this.#commit(offsets);
    await this.#started;
    let sent = 0;
    const stop = this.consumer.on(this.consumer.events.COMMIT_OFFSETS, () => {
      sent += 1;
    });
    try {
      const flat = offsets.topics.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, ...partition })));
      await this.consumer.commitOffsets(flat);
    } finally {
      stop();
    }
    if (sent === 0) throw Object.assign(new Error('the member is no longer running'), { type: 'UNKNOWN_MEMBER_ID' });
  }

  async #start(): Promise<void> {
    const { topics } = this.#options;
    await this.consumer.connect();
    await this.consumer.subscribe({ topics: [...topics], fromBeginning: true });
    this.#watchdog = setInterval(() => {
      this.#watch();
    }, WATCH_MS);
    this.#watchdog.unref();
    if (this.isOver()) throw new StopError('the consumer is stopping');
    this.#joining = this.consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: (payload) => {
        this.#handler = this.#handle(payload);
        return this.#handler;
      },
    });
    await this.#joining;
    // run() resolves even if the first join fails; the crash has been reported by then.
    if (this.isOver()) throw new StopError('the consumer crashed while it joined its group');
  }

  #hearOutOfRange(hear: boolean): void {
    const { groupId, onOutOfRange } = this.#options;
    if (onOutOfRange === undefined) return;
    const listeners = outOfRangeListeners.get(groupId) ?? new Set();
    if (hear) listeners.add(this.#onOutOfRange);
    else listeners.delete(this.#onOutOfRange);
    if (listeners.size > 0) outOfRangeListeners.set(groupId, listeners);
    else outOfRangeListeners.delete(groupId);
  }

  #listen(): void {
    const { consumer } = this;
    const { events } = consumer;
    const sign = (): void => {
      this.#lastSign = performance.now();
    };
    consumer.on(events.FETCH_START, () => {
      sign();
      // When a join fails halfway, e.g. when a SyncGroup gets no response, kafkajs continues with its old assignment as a member of a
      // generation that it does not know: every commit is rejected, without any event.
      if (this.#isJoining) this.fail({ by: 'kafka', error: new Error('the consumer fetches without having joined its group') });
    });
    consumer.on(events.FETCH, sign);
    consumer.on(events.HEARTBEAT, sign);
    const leaving = (): void => {
      this.#isJoining = true;
      this.#options.onLeaving?.();
    };
    consumer.on(events.REBALANCING, leaving);
    // It also rejoins without an event when the coordinator has forgotten it and when a topic has changed.
    consumer.on(events.REQUEST, ({ payload }) => {
      if (payload.apiName === 'JoinGroup') leaving();
    });
    consumer.on(events.GROUP_JOIN, ({ payload }) => {
      sign();
      this.#isJoining = false;
      this.#memberId = payload.memberId;
      if (this.#over) return;
      const assigned = Object.entries(payload.memberAssignment).map(([topic, partitions]) => ({ topic, partitions }));
      this.#options.onJoined({ assigned }, this);
    });
    consumer.on(events.START_BATCH_PROCESS, ({ payload }) => {
      sign();
      if (this.#over || payload.batchSize > 0) return;
      const { topic, partition } = payload;
      this.#options.onPassed(
        { topic, partition, nextOffset: Number(payload.lastOffset) + 1, endOffset: Number(payload.highWatermark) },
        this,
      );
    });
    consumer.on(events.CRASH, ({ payload }) => {
      this.fail({ by: 'kafka', error: payload.error });
    });
  }

  async #handle(payload: EachBatchPayload): Promise<void> {
    if (this.#over) throw new StopError('the consumer is stopping');
    this.#commit = (offsets) => payload.commitOffsetsIfNecessary(offsets);
    const beat = setInterval(() => {
      payload.heartbeat().catch(() => undefined);
    }, this.#options.heartbeatMs);
    try {
      await this.#options.onBatch(payload, this);
    } catch (error) {
      if (isFence(error)) throw new RejoinError(messageOf(error));
      this.fail({ by: 'handler', error });
      throw new StopError(messageOf(error));
    } finally {
      clearInterval(beat);
      this.#handler = undefined;
      this.#lastSign = performance.now();
    }
  }

  #watch(): void {
    if (this.#handler !== undefined || performance.now() - this.#lastSign < SILENCE_MS) return;
    this.fail({ by: 'kafka', error: new Error(`the consumer has not fetched for ${SILENCE_MS / 1000} s`) });
  }
}

const isFence = (error: unknown): boolean =>
  protocolType(error) === 'REBALANCE_IN_PROGRESS' || (error instanceof Error && 'code' in error && error.code === 'GROUP_FENCED');

function consumerConfig(options: InstanceOptions): ConsumerConfig {
  return {
    groupId: options.groupId,
    sessionTimeout: options.sessionTimeoutMs,
    heartbeatInterval: options.heartbeatMs,
    rebalanceTimeout: 30_000,
    metadataMaxAge: 30_000,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: MAX_WAIT_MS,
    maxBytesPerPartition: options.fetchBytes ?? BYTES_OF_PARTITION,
    maxBytes: options.fetchBytes ?? BYTES_OF_FETCH,
    retry: { initialRetryTime: 50, multiplier: 2, factor: 0.2, maxRetryTime: 1_000, retries: 6, restartOnFailure: async () => false },
  };
}
