// Restores the texts of turns that were written without their result (text-reference.ts) before they are delivered.
//
// - The topic `texts` is followed from the first reference on and kept in memory; its writers limit its size.
// - A text is acknowledged before a turn refers to it. A text that is missing up to the current end of `texts` is therefore gone, because
// somebody deleted it. Such a turn is delivered with its empty result and the header, and is reported.
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { Following, LogBatch, Logger } from '../../../streams/core/ports.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import type { FetchedBatch } from '../records/batch.ts';
import type { FetchedRecord } from '../records/record-batches.ts';
import { sha256Of } from '../records/text-reference.ts';
import { TEXTS_TOPIC } from '../topics/topics.ts';

/** How long a read waits for a text, ms. */
const PATIENCE_MS = 60_000;

export interface TextReaderOptions {
  /** Follows `texts` from its first record. */
  readonly follow: (onBatch: (batch: LogBatch) => void) => Promise<Following>;
  /** Partition bounds of `texts`; empty when the topic does not exist. */
  readonly bounds: () => Promise<readonly { readonly end: number }[]>;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly patienceMs?: number;
}

interface OffsetWaiter {
  readonly end: number;
  readonly resolve: () => void;
}

export class TextReader {
  readonly #options: TextReaderOptions;
  readonly #texts = new Map<string, Buffer>();
  #position = 0;
  #following: Promise<Following> | undefined;
  #waiting: OffsetWaiter[] = [];

  constructor(options: TextReaderOptions) {
    this.#options = options;
  }

  /** Restores the texts of a batch, within the values or `apart`. Waits only for texts that are not known yet. */
  fill(batch: FetchedBatch, apart = false): Promise<void> | undefined {
    // Texts contain no references: a reader of `texts` would wait for itself.
    if ((batch.topic as string) === TEXTS_TOPIC) return undefined;
    let lacking = 0;
    for (const record of batch.records) if (!this.#give(record, apart)) lacking += 1;
    return lacking === 0 ? undefined : this.#complete(batch, apart);
  }

  async #complete(batch: FetchedBatch, apart: boolean): Promise<void> {
    const [own] = await this.#options.bounds();
    if (own !== undefined) await this.#reach(own.end);
    const missing = batch.records.filter((record) => !this.#give(record, apart)).length;
    if (missing === 0) return;
    const { topic, partition } = batch;
    this.#options.metrics?.count('kafka_missing_texts_total', { topic }, missing);
    this.#options.logger.error({ topic, partition, missing }, 'texts of turns are not in the topic of texts; their results are empty');
  }

  async close(): Promise<void> {
    const following = await this.#following?.catch(() => undefined);
    await following?.close();
  }

  #give(record: FetchedRecord, apart: boolean): boolean {
    const { lacks } = record;
    if (lacks === undefined) return true;
    const text = this.#texts.get(lacks.sha256);
    if (text !== undefined) record.give(text, apart);
    return text !== undefined;
  }

  /** Resolves when `texts` has been read up to `end`. */
  async #reach(end: number): Promise<void> {
    this.#following ??= this.#follow();
    await this.#following;
    if (this.#position >= end) return;
    const { patienceMs = PATIENCE_MS } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        reject(new PlatformError('KAFKA_UNAVAILABLE', `reading the topic of texts: no end within ${Math.round(patienceMs / 1_000)} s`));
      }, patienceMs);
      const waiting: OffsetWaiter = {
        end,
        resolve: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiting.push(waiting);
    });
  }

  #follow(): Promise<Following> {
    const following = this.#options.follow((batch) => {
      this.#take(batch);
    });
    following.catch((error: unknown) => {
      this.#following = undefined;
      this.#options.logger.debug({ error: messageOf(error) }, 'following the topic of texts failed');
    });
    return following;
  }

  #take({ records, nextOffset }: LogBatch): void {
    for (const { key, value } of records) {
      const sha256 = key?.toString('latin1') ?? '';
      // Copied: a view would keep the whole response in memory.
      if (value !== null && !this.#texts.has(sha256) && sha256Of(value) === sha256) this.#texts.set(sha256, Buffer.from(value));
    }
    this.#position = Math.max(this.#position, nextOffset);
    const reached = this.#waiting.filter(({ end }) => end <= this.#position);
    this.#waiting = this.#waiting.filter(({ end }) => end > this.#position);
    for (const { resolve } of reached) resolve();
  }
}
