// Batches the events of many trajectories into few appends. Order: events are appended in the order of `put`, one append at a time, so the
// events of a trajectory stay in order, even when an append is repeated after a lost acknowledgement (event ids make the repeat harmless).
// Bounded: `put` waits while too many events or bytes are unacknowledged; this pauses the producers. Outage: an append that fails with a
// retriable code is repeated until it succeeds. Nothing is dropped. Any other failure is a bug or a fence: every pending `put` and
// acknowledgement rejects with it, and so do all later ones.
import { isPlatformError } from '../../../streams/core/errors.ts';
import type { Clock, EventWriter, Logger, OutgoingEvent } from '../../../streams/core/ports.ts';
import { createBackoff, deferred, type Deferred } from '../../../streams/core/waiting.ts';

export interface Outbox {
  /**
   * Resolves when there is room for the event, which then has its place in the order; `acked` resolves when it is in the log. The order is
   * the order of the calls.
   */
  put(event: OutgoingEvent, bytes: number): Promise<{ readonly acked: Promise<void> }>;
  /** Number of unacknowledged events. */
  pending(): number;
  /** What prevents appends; undefined when nothing does. */
  trouble(): string | undefined;
  /** Gives up waiting for unacknowledged events. Returns their number. */
  abandon(reason: unknown): number;
}

export interface OutboxOptions {
  readonly writer: EventWriter;
  readonly logger: Logger;
  readonly clock: Pick<Clock, 'sleep'>;
  /** How long an event waits for others to share an append, ms. */
  readonly lingerMs?: number;
  readonly maxPendingEvents?: number;
  readonly maxPendingBytes?: number;
  /** Maximum bytes per append; a single event may be larger. */
  readonly maxAppendBytes?: number;
  /** How long an append may take before it counts as trouble, ms: the writer itself may be waiting for the log. */
  readonly slowMs?: number;
  /** First and longest wait between retries, ms. */
  readonly retryMs?: readonly [number, number];
}

interface QueuedEvent {
  readonly event: OutgoingEvent;
  readonly bytes: number;
  readonly admitted: Deferred<void>;
  readonly acked: Deferred<void>;
}

const defaults = {
  lingerMs: 5,
  maxPendingEvents: 4_096,
  maxPendingBytes: 32 * 2 ** 20,
  maxAppendBytes: 800_000,
  slowMs: 3_000,
  retryMs: [50, 5_000] as const,
};

export function createOutbox(options: OutboxOptions): Outbox {
  const outbox = new EventOutbox({ ...defaults, ...options });
  return {
    put: (event, bytes) => outbox.put(event, bytes),
    pending: () => outbox.pending,
    trouble: () => outbox.trouble,
    abandon: (reason) => outbox.abandon(reason),
  };
}

class EventOutbox {
  readonly #options: Required<OutboxOptions>;
  readonly #queue: QueuedEvent[] = [];
  readonly #waiting: QueuedEvent[] = [];
  #events = 0;
  #bytes = 0;
  #sending = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #over = new AbortController();
  trouble: string | undefined;

  constructor(options: Required<OutboxOptions>) {
    this.#options = options;
  }

  get pending(): number {
    return this.#events + this.#waiting.length;
  }

  async put(event: OutgoingEvent, bytes: number): Promise<{ readonly acked: Promise<void> }> {
    if (this.#failure !== undefined) throw this.#failure.error;
    const entry: QueuedEvent = { event, bytes, admitted: deferred(), acked: deferred() };
    if (this.#waiting.length === 0 && this.#hasRoom(bytes)) this.#take(entry);
    else this.#waiting.push(entry);
    await entry.admitted.promise;
    return { acked: entry.acked.promise };
  }

  abandon(reason: unknown): number {
    const count = this.pending;
    this.#fail(reason);
    return count;
  }

  #hasRoom(bytes: number): boolean {
    const { maxPendingEvents, maxPendingBytes } = this.#options;
    return this.#events === 0 || (this.#events < maxPendingEvents && this.#bytes + bytes <= maxPendingBytes);
  }

  /** Adds an event to the queue; there is room for it. */
  #take(entry: QueuedEvent): void {
    this.#events += 1;
    this.#bytes += entry.bytes;
    this.#queue.push(entry);
    entry.admitted.resolve();
    if (this.#sending) return;
    this.#sending = true;
    void this.#options.clock.sleep(this.#options.lingerMs).then(() => this.#send());
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#hasRoom(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#take(next);
    }
  }

  #nextBatch(): readonly QueuedEvent[] {
    let size = 0;
    const over = this.#queue.findIndex((entry, index) => (size += entry.bytes) > this.#options.maxAppendBytes && index > 0);
    return this.#queue.slice(0, over < 0 ? this.#queue.length : over);
  }

  async #send(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#nextBatch();
      if (!(await this.#append(batch))) return;
      this.#queue.splice(0, batch.length);
      this.#events -= batch.length;
      for (const entry of batch) {
        this.#bytes -= entry.bytes;
        entry.acked.resolve();
      }
      this.#admit();
      // Lets events that were just admitted or acknowledged share the next append.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#sending = false;
  }

  /** Repeats until the log has the batch; false when the outbox failed or was abandoned. */
  async #append(batch: readonly QueuedEvent[]): Promise<boolean> {
    const [firstMs, maxMs] = this.#options.retryMs;
    const backoff = createBackoff({ firstMs, maxMs });
    while (this.#failure === undefined) {
      const answered = new AbortController();
      void this.#options.clock.sleep(this.#options.slowMs, answered.signal).then(() => {
        if (!answered.signal.aborted) this.#startTrouble('the log has not acknowledged an append for seconds');
      });
      try {
        await this.#options.writer.append(batch.map((entry) => entry.event));
        this.#noteSuccess(batch.length);
        return this.#isOpen();
      } catch (error) {
        if (!this.#noteError(error)) return false;
      } finally {
        answered.abort();
      }
      await this.#options.clock.sleep(backoff.next(), this.#over.signal);
    }
    return false;
  }

  #isOpen(): boolean {
    return this.#failure === undefined;
  }

  #noteSuccess(events: number): void {
    if (this.trouble !== undefined) this.#options.logger.info({ events }, 'the log takes events again');
    this.trouble = undefined;
  }

  /** False when retrying cannot help. */
  #noteError(error: unknown): boolean {
    if (!isPlatformError(error) || !error.retriable) {
      this.#fail(error);
      return false;
    }
    this.#startTrouble(error.message);
    return true;
  }

  #startTrouble(reason: string): void {
    const { logger } = this.#options;
    if (this.trouble === undefined) logger.warn({ error: reason, events: this.#events }, 'the log does not take events; waiting');
    this.trouble = reason;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    for (const entry of [...this.#queue.splice(0), ...this.#waiting.splice(0)]) {
      entry.admitted.reject(error);
      entry.acked.reject(error);
    }
    this.#over.abort();
  }
}
