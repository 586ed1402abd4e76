// Keeps a consumer running: when an instance fails, reports it, waits with backoff and starts another one, until it is closed. The backoff
// resets once a batch has been handled.
import type { EachBatchPayload } from 'kafkajs';
import { messageOf } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { reconnectMs } from '../backoff.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { ConsumerInstance, type InstanceEnd, type InstanceOptions } from './consumer-instance.ts';
import { isWithoutCoordinator } from '../kafka-error.ts';

const SETTLING_TRIES = 6;

export interface LoopOptions extends Omit<InstanceOptions, 'groupId'> {
  readonly logger: Logger;
  /** Called for each instance: a crashed one leaves a member behind that blocks its group until its session times out. */
  readonly groupId: () => string;
  /** Called on a failure; the loop continues by itself. */
  readonly onEnded: (ending: InstanceEnd) => void;
}

export class ConsumerLoop {
  readonly #options: LoopOptions;
  readonly #closing = new AbortController();
  readonly #paused = new Map<string, Set<number> | 'all'>();
  #instance: ConsumerInstance | undefined;
  #running: Promise<void> | undefined;
  #failures = 0;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Resolves when the first instance has joined its group, after any number of attempts, or when the loop is closed. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#running = this.#run(resolve).finally(resolve);
    });
  }

  /** Pauses all or some partitions of a topic, also for later instances. */
  pause(topic: string, partitions?: readonly number[]): void {
    this.#paused.set(topic, partitions === undefined ? 'all' : new Set(partitions));
    this.#applyPauses();
  }

  resume(topic: string): void {
    this.#paused.delete(topic);
    if (this.#instance !== undefined) ignoreNotRunning(() => this.#instance?.consumer.resume([{ topic }]));
  }

  /** Waits for a running handler. Must not be called from within one. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#instance?.fail({ by: 'closing', error: undefined });
    await this.#running;
  }

  async #run(joined: () => void): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const instance = new ConsumerInstance({
        ...this.#options,
        groupId: this.#options.groupId(),
        onJoined: (event, self) => {
          this.#applyPauses(self);
          this.#options.onJoined(event, self);
        },
        onBatch: (payload, self) => this.#handle(payload, self),
      });
      this.#instance = instance;
      const ending = await this.#live(instance, joined);
      await instance.dispose();
      this.#instance = undefined;
      if (ending.by === 'closing') return;
      this.#failures += 1;
      if (this.#isSettling(ending)) this.#options.logger.debug({ error: messageOf(ending.error) }, 'the group has no coordinator yet');
      else this.#options.onEnded(ending);
      await pause(reconnectMs(this.#failures - 1), this.#closing.signal);
    }
  }

  async #live(instance: ConsumerInstance, joined: () => void): Promise<InstanceEnd> {
    const failed = instance.start().then(
      () => {
        if (!instance.isOver()) joined();
        return instance.ended;
      },
      (error: unknown): InstanceEnd | Promise<InstanceEnd> => (instance.isOver() ? instance.ended : { by: 'kafka', error }),
    );
    return Promise.race([failed, instance.ended]);
  }

  /** For a moment after a start the coordinator of a group is unavailable: that needs no report. */
  #isSettling({ by, error }: InstanceEnd): boolean {
    return by === 'kafka' && this.#failures <= SETTLING_TRIES && isWithoutCoordinator(error);
  }

  async #handle(payload: EachBatchPayload, instance: ConsumerInstance): Promise<void> {
    await this.#options.onBatch(payload, instance);
    this.#failures = 0;
  }

  #applyPauses(instance = this.#instance): void {
    if (instance === undefined) return;
    for (const [topic, partitions] of this.#paused) {
      ignoreNotRunning(() => {
        instance.consumer.pause([partitions === 'all' ? { topic } : { topic, partitions: [...partitions] }]);
      });
    }
  }
}

/** Before an instance runs there is nothing to pause; it applies the pauses when it joins. */
function ignoreNotRunning(work: () => void): void {
  try {
    work();
  } catch {
    // applied when it joins
  }
}
