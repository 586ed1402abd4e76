// Appends records in the order of the calls.
//
// - A call resolves when all in-sync replicas have acknowledged its records. Records that arrive during a send are batched into the next
// one, so that many small calls need few requests.
// - Delivery is at least once: an outage is waited out with backoff. A failed producer is replaced, because its sequence numbers can no
// longer be trusted; its records are sent again and may then be in the log twice, with the same event id.
// - Nothing is stored elsewhere: records that were not acknowledged when the process dies may be lost; their calls have not resolved.
import type { Kafka } from 'kafkajs';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import type { Compression } from '../records/compression.ts';
import { reconnectMs } from '../backoff.ts';
import { pause, settledWithin } from '../../lifecycle/waiting.ts';
import { isFinal, isTooLarge, kafkaError } from '../kafka-error.ts';
import { createRecordProducer, SEND_BYTES, type Outgoing, type RecordPlacement, type RecordProducer } from './producer.ts';

const CLOSE_GRACE_MS = 10_000;

/** How long a call waits for Kafka to come back before it fails with KAFKA_UNAVAILABLE, ms. */
const DEFAULT_DELIVERY_TIMEOUT_MS = 600_000;

export interface RecordWriterOptions {
  readonly kafka: Kafka;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly deliveryTimeoutMs?: number;
  readonly compression?: Compression;
}

interface WriteJob {
  readonly records: readonly Outgoing[];
  readonly places: RecordPlacement[];
  readonly deadline: number;
  next: number;
  failed: boolean;
  readonly resolve: (places: readonly RecordPlacement[]) => void;
  readonly reject: (error: unknown) => void;
}

interface Chunk {
  readonly parts: { readonly job: WriteJob; readonly records: Outgoing[] }[];
  readonly deadline: number;
}

export class RecordWriter {
  readonly #options: RecordWriterOptions;
  readonly #closing = new AbortController();
  #jobs: WriteJob[] = [];
  #producer: RecordProducer | undefined;
  #pumping: Promise<void> | undefined;

  constructor(options: RecordWriterOptions) {
    this.#options = options;
  }

  append(records: readonly Outgoing[]): Promise<readonly RecordPlacement[]> {
    if (records.length === 0) return Promise.resolve([]);
    if (this.#closing.signal.aborted) {
      return Promise.reject(new PlatformError('KAFKA_UNAVAILABLE', 'appending to the log: the writer is closed'));
    }
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + (this.#options.deliveryTimeoutMs ?? DEFAULT_DELIVERY_TIMEOUT_MS);
      this.#jobs.push({ records, places: [], deadline, next: 0, failed: false, resolve, reject });
      this.#pumping ??= this.#pump();
    });
  }

  /** Sends pending records, for at most 10 s, and disconnects. */
  async close(): Promise<void> {
    const pumping = this.#pumping ?? Promise.resolve();
    await settledWithin(CLOSE_GRACE_MS, pumping);
    this.#closing.abort();
    await this.#discardProducer();
    await pumping;
  }

  async #pump(): Promise<void> {
    // Calls of the same tick are sent together.
    await Promise.resolve();
    for (let chunk = this.#nextChunk(); chunk !== undefined; chunk = this.#nextChunk()) await this.#deliver(chunk);
    this.#pumping = undefined;
  }

  /** Takes pending records up to the size of one send, job by job. */
  #nextChunk(): Chunk | undefined {
    const parts: Chunk['parts'] = [];
    let deadline = 0;
    let bytes = 0;
    this.#jobs = this.#jobs.filter((job) => !job.failed && job.next < job.records.length);
    for (const job of this.#jobs) {
      const records: Outgoing[] = [];
      for (
        let record = job.records[job.next];
        record !== undefined && (bytes === 0 || bytes + record.bytes <= SEND_BYTES);
        record = job.records[job.next]
      ) {
        records.push(record);
        bytes += record.bytes;
        job.next += 1;
      }
      if (records.length > 0) parts.push({ job, records });
      deadline = Math.max(deadline, job.deadline);
      if (job.next < job.records.length) break;
    }
    return parts.length === 0 ? undefined : { parts, deadline };
  }

  async #deliver(chunk: Chunk): Promise<void> {
    const records = chunk.parts.flatMap((part) => part.records);
    try {
      const places = await this.#send(records, chunk.deadline);
      let from = 0;
      for (const { job, records: own } of chunk.parts) {
        job.places.push(...places.slice(from, from + own.length));
        from += own.length;
        if (job.places.length === job.records.length) job.resolve(job.places);
      }
    } catch (error) {
      if (isTooLarge(error) && chunk.parts.length > 1) {
        for (const part of chunk.parts) await this.#deliver({ parts: [part], deadline: chunk.deadline });
        return;
      }
      for (const { job } of chunk.parts) {
        job.failed = true;
        job.reject(kafkaError(`appending ${records.length} records to ${records[0]?.topic ?? ''}`, error));
      }
    }
  }

  async #send(records: readonly Outgoing[], deadline: number): Promise<readonly RecordPlacement[]> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        this.#closing.signal.throwIfAborted();
        return await (await this.#connected()).send(records);
      } catch (error) {
        await this.#discardProducer();
        if (isFinal(error) || performance.now() >= deadline || this.#closing.signal.aborted) throw error;
        this.#options.metrics?.count('kafka_producer_recreated_total', {});
        if (attempt === 0) this.#options.logger.warn({ error: messageOf(error) }, 'appending to the log failed, trying until it works');
        await pause(Math.min(reconnectMs(attempt), Math.max(0, deadline - performance.now())), this.#closing.signal);
      }
    }
  }

  async #connected(): Promise<RecordProducer> {
    if (this.#producer !== undefined) return this.#producer;
    const producer = createRecordProducer(this.#options.kafka, { compression: this.#options.compression });
    this.#producer = producer;
    await producer.connect();
    return producer;
  }

  async #discardProducer(): Promise<void> {
    const producer = this.#producer;
    this.#producer = undefined;
    if (producer !== undefined) await settledWithin(2_000, producer.disconnect());
  }
}
