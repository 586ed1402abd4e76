import type { EventTopic } from '../../../schemas/generated/events.ts';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { LogBatch } from '../../../streams/core/ports.ts';
import type { InstanceEnd } from './consumer-instance.ts';
import { kafkaError } from '../kafka-error.ts';
import type { OnSkipped } from './skipped.ts';
import { type ReadOptions, PositionedRead, type LogReaderOptions } from './positioned-read.ts';
import { deferred } from '../../../streams/core/waiting.ts';

/** A read to the end fails when it makes no progress for this long. */
const STALL_MS = 300_000;

export const endingError = ({ by, error }: InstanceEnd): unknown => (by === 'handler' ? error : kafkaError('reading the log', error));

interface OffsetRange {
  readonly partition: number;
  readonly start: number;
  readonly end: number;
}

interface BoundedReadOptions {
  readonly topic: EventTopic;
  /** Ranges of all partitions; empty ones are not read. */
  readonly ranges: readonly OffsetRange[];
  readonly signal: AbortSignal | undefined;
  readonly onBatch: ReadOptions['onBatch'];
  readonly onSkipped: OnSkipped | undefined;
}

/** Reads ranges of one topic and ends. An error of the handler fails the read. */
export class BoundedRead {
  readonly #options: BoundedReadOptions;
  readonly #open: Map<number, number>;
  readonly #read: PositionedRead;
  readonly #topic: string;
  #lastProgress = performance.now();
  readonly #end = deferred();

  constructor(reader: LogReaderOptions, options: BoundedReadOptions) {
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
        if (ending.by === 'handler' || stalled) this.#end.reject(endingError(ending));
        else reader.logger.debug({ topic: this.#topic, error: messageOf(ending.error) }, 'reading to the end failed, trying again');
      },
    });
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    const onAbort = (): void => {
      this.#end.reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    const watch = setInterval(() => {
      if (performance.now() - this.#lastProgress > STALL_MS) {
        this.#end.reject(
          new PlatformError('KAFKA_UNAVAILABLE', `reading ${this.#topic} to its end: nothing came for ${STALL_MS / 1000} s`),
        );
      }
    }, 1_000);
    try {
      void this.#read.loop.start();
      this.#pauseOthers();
      await this.#end.promise;
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
    if (this.#open.size === 0) this.#end.resolve();
    else this.#pauseOthers();
  }

  #pauseOthers(): void {
    const others = this.#options.ranges.map(({ partition }) => partition).filter((partition) => !this.#open.has(partition));
    if (others.length > 0) this.#read.loop.pause(this.#topic, others);
  }
}

/** A read ends at the end offset that was determined when it started, even if more records follow. */
const cut = (batch: LogBatch, end: number): LogBatch => ({
  ...batch,
  records: batch.records.filter(({ offset }) => offset < end),
  nextOffset: end,
});
