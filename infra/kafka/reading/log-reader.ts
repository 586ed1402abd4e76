// Reads the log without a permanent consumer group. kafkajs reads only as a group member, so each read joins a group of its own with a
// random name, which commits nothing and ends with the read; positions are kept here and set at every join.
//
// - Only committed records are delivered; an open transaction blocks a read until it is committed or aborted.
// - A batch is delivered again when its handler fails; otherwise each record is delivered once per read, in order.
// - A position that retention has deleted becomes the first available one, and the range in between is reported (skipped.ts).
// - A position beyond the end of a partition, whose newest records are gone, becomes that end. A reader with state from lost records must
// detect that by itself: the next record has another leader epoch.
import { randomBytes } from 'node:crypto';
import type { EachBatchPayload, Kafka } from 'kafkajs';
import type { EventTopic } from '../../../schemas/generated/events.ts';
import { isPlatformError, messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { Following, LogBatch, Logger, LogReader } from '../../../streams/core/ports.ts';
import type { SharedAdmin } from '../topics/admin.ts';
import { backoffMs, pause } from '../backoff.ts';
import { logBatchOf, type FetchedBatch } from '../records/batch.ts';
import type { ConsumerInstance, Ending, Joined } from './consumer-instance.ts';
import { ConsumerLoop } from './consumer-loop.ts';
import { kafkaError } from '../kafka-error.ts';
import type { Names } from '../names.ts';
import type { createSkippedTeller, OnSkipped } from './skipped.ts';
import type { TextReader } from '../texts/text-reader.ts';

const SESSION_MS = 30_000;
const HEARTBEAT_MS = 3_000;

/**
 * Bytes per fetch, possibly all from one partition: the state that a fold needs stays in the CPU caches, and fewer records outlive a
 * garbage collection than with larger fetches. The trainer refolds a quarter faster than with 2 MiB from each of 8 partitions.
 */
const BYTES_OF_FETCH = 4 * 1024 * 1024;

/** Maximum number of batches that wait for their handler; then fetching pauses. */
const BATCHES_AHEAD = 4;

/** A read to the end fails when it makes no progress for this long. */
const STALL_MS = 300_000;

export interface LogReaderOptions {
  readonly kafka: Kafka;
  readonly admin: SharedAdmin;
  readonly names: Names;
  readonly logger: Logger;
  /** Aborts when the connection closes. */
  readonly closing: AbortSignal;
  readonly tellSkipped: ReturnType<typeof createSkippedTeller>;
  /** Without it, turns stay without their shared texts. */
  readonly texts?: TextReader | undefined;
}

export interface Bounds {
  readonly partition: number;
  readonly first: number;
  readonly end: number;
}

/** Also reads topics whose records are not events, by short name. */
export interface RawLogReader extends LogReader {
  readonly rawBounds: (topic: string) => Promise<readonly Bounds[]>;
  readRawToEnd(topic: string, options: Parameters<LogReader['readToEnd']>[1]): Promise<void>;
}

export function createLogReader(options: LogReaderOptions): RawLogReader {
  const bounds = (topic: string): Promise<readonly Bounds[]> => fetchBounds(options, topic);

  async function readToEnd(topic: string, read: Parameters<LogReader['readToEnd']>[1]): Promise<void> {
    const { from, to, signal, onBatch, onSkipped } = read;
    signal?.throwIfAborted();
    const all = await bounds(topic);
    signal?.throwIfAborted();
    const ranges = all.map(({ partition, first, end }) => {
      const until = to === undefined ? end : Math.min(end, to.get(partition) ?? first);
      const asked = from?.get(partition) ?? first;
      const skippedTo = Math.min(first, to?.get(partition) ?? first);
      if (asked < skippedTo) options.tellSkipped({ topic: topic as EventTopic, partition, from: asked, to: skippedTo }, onSkipped);
      return { partition, end: until, start: Math.max(first, asked) };
    });
    if (ranges.some(({ start, end }) => start < end)) {
      await new BoundedRead(options, { topic: topic as EventTopic, ranges, signal, onBatch, onSkipped }).run();
    }
  }

  return {
    bounds,
    rawBounds: bounds,
    readToEnd,
    readRawToEnd: readToEnd,
    async follow(follow) {
      const start = await startingPositions(options, follow);
      const reading = new PositionedRead(options, {
        topics: follow.topics,
        start,
        onBatch: follow.onBatch,
        onSkipped: follow.onSkipped,
        onEnded: (ending) => {
          follow.onError(endingError(ending));
        },
      });
      await reading.loop.start();
      return followingOf(options.names, reading);
    },
  };
}

/** Waits out an outage, and reports it, until the connection closes. */
async function startingPositions(
  options: LogReaderOptions,
  follow: Parameters<LogReader['follow']>[0],
): Promise<ReadonlyMap<string, number>> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await askForPositions(options, follow);
    } catch (error) {
      if (options.closing.aborted || !isPlatformError(error) || !error.retriable) throw error;
      follow.onError(error);
    }
    await pause(backoffMs(attempt), options.closing);
  }
}

async function askForPositions(
  options: LogReaderOptions,
  follow: Parameters<LogReader['follow']>[0],
): Promise<ReadonlyMap<string, number>> {
  const start = new Map<string, number>();
  for (const topic of follow.topics) {
    for (const { partition, first, end } of await fetchBounds(options, topic)) {
      const given = follow.from.find((position) => position.topic === topic && position.partition === partition)?.offset;
      if (given !== undefined && given < first) {
        options.tellSkipped({ topic, partition, from: given, to: first }, follow.onSkipped);
      }
      start.set(`${topic}/${partition}`, Math.max(first, given ?? (follow.otherwise === 'first' ? first : end)));
    }
  }
  return start;
}

async function fetchBounds({ admin, names }: LogReaderOptions, topic: string): Promise<readonly Bounds[]> {
  const offsets = await admin.use(`asking for the bounds of ${names.full(topic)}`, (client) => client.fetchTopicOffsets(names.full(topic)));
  return offsets
    .map(({ partition, low, high }) => ({ partition, first: Number(low), end: Number(high) }))
    .sort((a, b) => a.partition - b.partition);
}

const endingError = ({ by, error }: Ending): unknown => (by === 'handler' ? error : kafkaError('reading the log', error));

function followingOf(names: Names, reading: PositionedRead): Following {
  return {
    pause(topics) {
      for (const topic of topics) reading.loop.pause(names.full(topic));
    },
    resume(topics) {
      for (const topic of topics) reading.loop.resume(names.full(topic));
    },
    close: () => reading.close(),
  };
}

interface ReadOptions {
  readonly topics: readonly EventTopic[];
  /** Start position of each partition, by `<topic>/<partition>`; missing partitions start at their first offset. */
  readonly start: ReadonlyMap<string, number>;
  readonly onBatch: (batch: LogBatch) => Promise<void> | void;
  readonly onSkipped: OnSkipped | undefined;
  readonly onEnded: (ending: Ending) => void;
}

/**
 * A consumer that tracks its own positions. It fetches the next batches while one is handled, so that a busy handler does not also wait for
 * the broker.
 */
class PositionedRead {
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
    { topic, partition }: Omit<Bounds, 'first' | 'end'> & { readonly topic: EventTopic },
    instance: ConsumerInstance,
  ): Promise<void> {
    const own = (await fetchBounds(this.#reader, topic)).find((one) => one.partition === partition);
    const at = `${topic}/${partition}`;
    const position = this.#positions.get(at) ?? 0;
    if (own === undefined || instance.isOver()) return;
    const { first, end } = own;
    if (position < first) this.#reader.tellSkipped({ topic, partition, from: position, to: first }, this.#options.onSkipped);
    else if (position > end)
      this.#reader.logger.warn({ topic, partition, position, end }, `records of ${at} that were read are gone; going on at its end`);
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
    await this.#reader.texts?.fill(batch);
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

interface Range {
  readonly partition: number;
  readonly start: number;
  readonly end: number;
}

interface BoundedOptions {
  readonly topic: EventTopic;
  /** Ranges of all partitions; empty ones are not read. */
  readonly ranges: readonly Range[];
  readonly signal: AbortSignal | undefined;
  readonly onBatch: ReadOptions['onBatch'];
  readonly onSkipped: OnSkipped | undefined;
}

/** Reads ranges of one topic and ends. An error of the handler fails the read. */
class BoundedRead {
  readonly #options: BoundedOptions;
  readonly #open: Map<number, number>;
  readonly #read: PositionedRead;
  readonly #topic: string;
  #lastProgress = performance.now();
  #finish: (error?: unknown) => void = () => undefined;

  constructor(reader: LogReaderOptions, options: BoundedOptions) {
    this.#options = options;
    this.#topic = reader.names.full(options.topic);
    this.#open = new Map(options.ranges.filter(({ start, end }) => start < end).map(({ partition, end }) => [partition, end]));
    this.#read = new PositionedRead(reader, {
      topics: [options.topic],
      start: new Map(options.ranges.map(({ partition, start }) => [`${options.topic}/${partition}`, start])),
      onBatch: (batch) => this.#take(batch),
      onSkipped: options.onSkipped,
      onEnded: (ending) => {
        const stalled = performance.now() - this.#lastProgress > STALL_MS;
        if (ending.by === 'handler' || stalled) this.#finish(endingError(ending));
        else reader.logger.debug({ topic: this.#topic, error: messageOf(ending.error) }, 'reading to the end failed, trying again');
      },
    });
  }

  async run(): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      this.#finish = (error) => {
        if (error === undefined) resolve();
        else reject(error instanceof Error ? error : new Error(messageOf(error)));
      };
    });
    const { signal } = this.#options;
    const onAbort = (): void => {
      this.#finish(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    const watch = setInterval(() => {
      if (performance.now() - this.#lastProgress > STALL_MS) {
        this.#finish(new PlatformError('KAFKA_UNAVAILABLE', `reading ${this.#topic} to its end: nothing came for ${STALL_MS / 1000} s`));
      }
    }, 1_000);
    try {
      void this.#read.loop.start();
      this.#pauseOthers();
      await done;
    } finally {
      clearInterval(watch);
      signal?.removeEventListener('abort', onAbort);
      await this.#read.close();
    }
  }

  async #take(batch: LogBatch): Promise<void> {
    const end = this.#open.get(batch.partition);
    if (end === undefined) return;
    this.#lastProgress = performance.now();
    await this.#options.onBatch(batch.nextOffset <= end ? batch : cut(batch, end));
    if (batch.nextOffset < end) return;
    this.#open.delete(batch.partition);
    if (this.#open.size === 0) this.#finish();
    else this.#pauseOthers();
  }

  #pauseOthers(): void {
    const others = this.#options.ranges.map(({ partition }) => partition).filter((partition) => !this.#open.has(partition));
    if (others.length > 0) this.#read.loop.pause(this.#topic, others);
  }
}

/** A read ends at the end offset from its start, even if more records follow. */
const cut = (batch: LogBatch, end: number): LogBatch => ({
  ...batch,
  records: batch.records.filter(({ offset }) => offset < end),
  nextOffset: end,
});
