// A reader that tracks its own positions, as a group of one that commits nothing.
import { randomBytes } from 'node:crypto';
import type { EachBatchPayload, Kafka } from 'kafkajs';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import type { LogBatch, Logger } from '../../../streams/core/ports.ts';
import type { SharedAdmin } from '../topics/admin.ts';
import { logBatchOf, type FetchedBatch } from '../records/batch.ts';
import type { ConsumerInstance, InstanceEnd, Joined } from './consumer-instance.ts';
import { ConsumerLoop } from './consumer-loop.ts';
import type { TopicNames } from '../names.ts';
import type { createSkippedTeller, OnSkipped } from './skipped.ts';
import type { TextReader } from '../texts/text-reader.ts';
import { type PartitionOffsets, fetchBounds } from './bounds.ts';

const SESSION_MS = 30_000;

const HEARTBEAT_MS = 3_000;

/**
 * Bytes per fetch without compression, possibly all from one partition. Each fetch has a fixed cost: with turns of 2 kB, a trainer folds
 * 6 % more records per second than with 4 MiB, and 25 % more than with 1 MiB. Up to BATCHES_AHEAD + 2 fetches are in memory at a time.
 */
const BYTES_OF_FETCH = 12 * 1024 * 1024;

/** Maximum number of batches that wait for their handler; then fetching pauses. */
const BATCHES_AHEAD = 4;

export interface LogReaderOptions {
  readonly kafka: Kafka;
  readonly admin: SharedAdmin;
  readonly names: TopicNames;
  readonly logger: Logger;
  /** Aborts when the connection closes. */
  readonly closing: AbortSignal;
  readonly tellSkipped: ReturnType<typeof createSkippedTeller>;
  /** Without it, turns stay without their shared texts. */
  readonly texts?: TextReader | undefined;
  /** Leaves shared texts out of the values: they are `textApart` of their records. */
  readonly textsApart?: boolean;
}

export interface ReadOptions {
  readonly topics: readonly EventTopic[];
  /** Start position of each partition, by `<topic>/<partition>`; missing partitions start at their first offset. */
  readonly start: ReadonlyMap<string, number>;
  readonly onBatch: (batch: LogBatch) => Promise<void> | void;
  readonly onSkipped: OnSkipped | undefined;
  readonly onEnded: (ending: InstanceEnd) => void;
}

/**
 * A consumer that tracks its own positions. It fetches the next batches while one is handled, so that a busy handler does not also wait for
 * the broker.
 */
export class PositionedRead {
  readonly loop: ConsumerLoop;
  readonly #reader: LogReaderOptions;
  readonly #options: ReadOptions;
  readonly #positions: Map<string, number>;
  readonly #topics: ReadonlyMap<string, EventTopic>;
  /** Handles the fetched batches one after the other. */
  #handling: Promise<void> = Promise.resolve();
  #ahead = 0;
  #onHandled: () => void = () => undefined;
  /** The instance whose batch was handled last. */
  #proven: ConsumerInstance | undefined;

  constructor(reader: LogReaderOptions, options: ReadOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#positions = new Map(options.start);
    this.#topics = new Map(options.topics.map((topic) => [reader.names.full(topic), topic]));
    this.loop = new ConsumerLoop({
      kafka: reader.kafka,
      logger: reader.logger,
      groupId: () => reader.names.full(`reader.${randomBytes(9).toString('hex')}`),
      topics: [...this.#topics.keys()],
      sessionTimeoutMs: SESSION_MS,
      heartbeatMs: HEARTBEAT_MS,
      fetchBytes: BYTES_OF_FETCH,
      onJoined: (joined, instance) => {
        this.#seek(joined, instance);
      },
      onBatch: (payload, instance) => this.#deliver(payload, instance),
      onPassed: (passed, instance) => {
        const topic = this.#topics.get(passed.topic);
        if (topic !== undefined) this.#add({ ...passed, topic, records: [] }, instance);
      },
      onOutOfRange: ({ topic, partition }, instance) => {
        const short = this.#topics.get(topic);
        if (short === undefined) return;
        this.#moveInto({ topic: short, partition }, instance).catch((error: unknown) => {
          instance.fail({ by: 'kafka', error });
        });
      },
      onEnded: options.onEnded,
    });
  }

  /** Also waits for the handler. */
  async close(): Promise<void> {
    await this.loop.close();
    await this.#handling;
  }

  #seek({ assigned }: Joined, instance: ConsumerInstance): void {
    for (const { topic, partitions } of assigned) {
      for (const partition of partitions) {
        const offset = this.#positions.get(`${this.#topics.get(topic) ?? ''}/${partition}`) ?? 0;
        instance.consumer.seek({ topic, partition, offset: String(offset) });
      }
    }
  }

  /** The log does not have the position: it begins after it, or ends before it. */
  async #moveInto(
    { topic, partition }: Omit<PartitionOffsets, 'first' | 'end'> & { readonly topic: EventTopic },
    instance: ConsumerInstance,
  ): Promise<void> {
    const own = (await fetchBounds(this.#reader, topic)).find((one) => one.partition === partition);
    const at = `${topic}/${partition}`;
    const position = this.#positions.get(at) ?? 0;
    if (own === undefined || instance.isOver()) return;
    const { first, end } = own;
    if (position < first) this.#reader.tellSkipped({ topic, partition, from: position, to: first }, this.#options.onSkipped);
    else if (position > end)
      this.#reader.logger.warn(
        { topic, partition, position, end },
        `records of ${at} that were already read are gone; continuing at its end`,
      );
    else return;
    const offset = Math.min(end, Math.max(first, position));
    this.#positions.set(at, offset);
    instance.consumer.seek({ topic: this.#reader.names.full(topic), partition, offset: String(offset) });
  }

  async #deliver(payload: EachBatchPayload, instance: ConsumerInstance): Promise<void> {
    const topic = this.#topics.get(payload.batch.topic);
    if (topic === undefined || payload.isStale()) return;
    this.#add(logBatchOf(payload.batch, topic), instance);
    const last = payload.batch.messages.at(-1);
    if (last !== undefined) payload.resolveOffset(last.offset);
    // The first batch of an instance is handled before the next fetch, so that backoff grows for a handler that always fails.
    while (this.#ahead > (this.#proven === instance ? BATCHES_AHEAD : 0) && !instance.isOver()) {
      await new Promise<void>((resolve) => {
        this.#onHandled = resolve;
      });
    }
  }

  #add(batch: FetchedBatch, instance: ConsumerInstance): void {
    this.#ahead += 1;
    this.#handling = this.#handling.then(async () => {
      try {
        await this.#handle(batch, instance);
      } catch (error) {
        instance.fail({ by: 'handler', error });
      } finally {
        this.#ahead -= 1;
        this.#onHandled();
      }
    });
  }

  /** Batches of an ended instance are dropped; the next instance fetches them again from the last handled position. */
  async #handle(batch: FetchedBatch, instance: ConsumerInstance): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    const at = `${batch.topic}/${batch.partition}`;
    const position = this.#positions.get(at) ?? 0;
    if (instance.isOver() || batch.nextOffset <= position) return;
    await this.#tellIfSkipped(batch, position);
    await this.#reader.texts?.fill(batch, this.#reader.textsApart);
    await this.#options.onBatch(from(batch, position));
    this.#positions.set(at, batch.nextOffset);
    this.#proven = instance;
  }

  /**
   * A gap before a batch consists of control or aborted records, or of records that retention deleted while this reader lagged: the start
   * of the partition tells which.
   */
  async #tellIfSkipped(batch: LogBatch, position: number): Promise<void> {
    if (firstOf(batch) <= position) return;
    const { topic, partition } = batch;
    const bounds = await fetchBounds(this.#reader, topic);
    const to = Math.min(bounds.find((one) => one.partition === partition)?.first ?? 0, firstOf(batch));
    if (to > position) this.#reader.tellSkipped({ topic, partition, from: position, to }, this.#options.onSkipped);
  }
}

/** The first offset that a batch covers; a batch without records holds only control records before its end. */
const firstOf = ({ records, nextOffset }: LogBatch): number => records[0]?.offset ?? nextOffset;

/** After a rejoin, an instance may fetch records that have been handled meanwhile. */
function from(batch: LogBatch, position: number): LogBatch {
  const [first] = batch.records;
  if (first === undefined || first.offset >= position) return batch;
  return { ...batch, records: batch.records.filter(({ offset }) => offset >= position) };
}
